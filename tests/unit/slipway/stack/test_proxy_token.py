"""The token of the signing proxy: the same each time, another for each deployment, for this user's eyes only."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from slipway.stack.proxy_token import token_of


@pytest.fixture(autouse=True)
def _state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))


def test_it_stays_and_differs_from_other_deployments() -> None:
    assert token_of("us-east-1 qwen3-4b") == token_of("us-east-1 qwen3-4b")
    assert len({token_of(name) for name in ("us-east-1 qwen3-4b", "eu-west-1 qwen3-4b", "local qwen3-4b")}) == 3
    assert len(token_of("a")) == 32


def test_another_user_has_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mine = token_of("us-east-1 qwen3-4b")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "another"))
    assert token_of("us-east-1 qwen3-4b") != mine


def test_its_secret_is_read_by_this_user_only(tmp_path: Path) -> None:
    token_of("a")
    (file,) = (tmp_path / "slipway").iterdir()
    assert file.stat().st_mode & 0o777 == 0o600


def test_two_that_begin_at_once_have_the_same() -> None:
    with ThreadPoolExecutor(8) as executor:
        assert len(set(executor.map(token_of, ["a"] * 32))) == 1


def test_where_no_file_can_be_kept_there_is_one_all_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a-file").touch()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "a-file"))
    assert len(token_of("a")) == 32
