"""`slipway env`: which local cloud it finds, and what it prints."""

import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest

from slipway.local import env
from slipway.local.running_cloud import DEFAULT_PORT, NotRunningError, announced, variables_of


@pytest.mark.parametrize(
    ("running", "asked", "found"),
    [
        ((4600,), None, 4600),
        ((4600, DEFAULT_PORT), None, DEFAULT_PORT),
        ((4600, DEFAULT_PORT), 4600, 4600),
    ],
)
def test_the_one_that_is_meant_is_found(
    running: tuple[int, ...], asked: int | None, found: int, tmp_path: Path
) -> None:
    with ExitStack() as clouds:
        for port in running:
            clouds.enter_context(announced(tmp_path, port, {"PORT": str(port)}))
        assert variables_of(tmp_path, asked) == {"PORT": str(found)}


@pytest.mark.parametrize(
    ("running", "asked", "said"),
    [
        ((), None, "No local cloud runs in this folder: start one with `slipway local NAME`"),
        ((4600,), 4700, r"on port 4700; use --port 4600\."),
        ((4700, 4600), None, rf"on port {DEFAULT_PORT}; use --port 4600 or --port 4700\."),
    ],
)
def test_one_that_does_not_run_is_told_with_those_that_do(
    running: tuple[int, ...], asked: int | None, said: str, tmp_path: Path
) -> None:
    with ExitStack() as clouds:
        for port in running:
            clouds.enter_context(announced(tmp_path, port, {}))
        with pytest.raises(NotRunningError, match=said):
            variables_of(tmp_path, asked)


def test_one_that_was_killed_is_not_found(tmp_path: Path) -> None:
    script = """\
import os, pathlib, sys
from slipway.local.running_cloud import announced
with announced(pathlib.Path(sys.argv[1]), 4600, {}):
    os._exit(9)"""
    assert subprocess.run([sys.executable, "-c", script, str(tmp_path)]).returncode == 9
    assert list((tmp_path / "cdk.out/local-cloud").glob("*.json"))
    with pytest.raises(NotRunningError):
        variables_of(tmp_path, None)


def test_its_key_is_for_its_user_only(tmp_path: Path) -> None:
    with announced(tmp_path, 4600, {}):
        (path,) = (tmp_path / "cdk.out/local-cloud").iterdir()
        assert path.stat().st_mode & 0o777 == 0o600
    assert not path.exists()


def test_a_shell_takes_the_lines_with_any_value(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with announced(tmp_path, 4600, {"API_KEY": "a'b $c", "AWS_SESSION_TOKEN": ""}):
        assert env.run(tmp_path, None) == 0
    before, after = "AWS_PROFILE=mine AWS_SESSION_TOKEN=old", 'echo "$API_KEY|$AWS_SESSION_TOKEN|$AWS_PROFILE"'
    lines = "\n".join((before, capsys.readouterr().out, after))
    done = subprocess.run(["bash", "-ec", lines], capture_output=True, text=True, check=True)
    assert done.stdout == "a'b $c||\n"


def test_without_a_local_cloud_there_is_one_sentence_and_status_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert env.run(tmp_path, None) == 2
    printed = capsys.readouterr()
    assert (printed.out, printed.err.count("\n")) == ("", 1)
