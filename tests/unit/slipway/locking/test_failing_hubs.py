"""`lock`, `check --hub` and `stage` where the Hub is away, slow, busy, or no Hub, and where it knows the model otherwise."""

import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from huggingface_hub import constants

from llm_hosting.model_lock import HUB
from slipway import check, lock
from slipway.staging.hub_errors import HubError
from slipway.staging.hub_repository import HubRepository
from support.hub_models import MODEL, files, safetensors
from support.hub_server import HubAnswer, HubServer

ROOT = Path(lock.__file__).parent.parent
OLD = "old-org/tuned"
LARGE = "model-00001-of-00002.safetensors"
SHARDS = {f"model-{number:05}-of-00006.safetensors": safetensors({"a": ("F16", [10], 20)}) for number in range(1, 6)}
MANY_FILES = {
    **{path: body for path, body in files().items() if path.endswith(".json")},
    **SHARDS,
    "model-00006-of-00006.safetensors": files()[LARGE],  # the Hub sends to another host for it
    "generation_config.json": b"{}",
}


def no_answer(answer: HubAnswer) -> None:
    answer.close_connection = True


def no_connection(answer: HubAnswer) -> None:
    answer.close_connection = True
    answer.hub.refuse()


def half_an_answer(answer: HubAnswer) -> None:
    answer.is_half = True
    answer.as_a_hub()


def a_login(answer: HubAnswer) -> None:
    answer.say(200, b"<html>Who are you?</html>", {"Content-Type": "text/html"})


def says(status: int, **headers: str) -> Callable[[HubAnswer], None]:
    return lambda answer: answer.say(status, b"", {name.replace("_", "-"): text for name, text in headers.items()})


def once(fault: Callable[[HubAnswer], None]) -> Callable[[HubAnswer], None]:
    def only_now(answer: HubAnswer) -> None:
        answer.hub.fault = None
        fault(answer)

    return only_now


def never(answer: HubAnswer) -> None:
    answer.hub.release.wait(60)
    answer.as_a_hub()


@pytest.fixture(autouse=True)
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Seconds that the library would have slept."""
    waits: list[float] = []
    monkeypatch.setattr(time, "sleep", waits.append)
    return waits


@pytest.fixture
def sentence(capsys: pytest.CaptureFixture[str]) -> Callable[[Path], str]:
    """What a failing `lock` of a deployment says."""

    def said(deployment: Path) -> str:
        there = {path: path.read_bytes() for path in deployment.parent.iterdir()}
        assert lock.run(str(deployment), deployment.parent) == 2
        assert {path: path.read_bytes() for path in deployment.parent.iterdir()} == there
        printed = capsys.readouterr()
        assert (printed.out, printed.err.count("\n")) == ("", 1)
        return printed.err

    return said


@pytest.mark.parametrize(
    "fault",
    [no_answer, no_connection, half_an_answer, a_login, says(429), says(503), says(429, Retry_After="3600")],
    ids=["no answer", "no connection", "half an answer", "a login", "busy", "away", "busy for an hour"],
)
def test_a_hub_that_fails_at_any_moment_is_one_sentence_and_nothing_is_changed(
    fault: Callable[[HubAnswer], None],
    deployment: Path,
    sentence: Callable[[Path], str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    target = deployment.with_suffix(".lock.json")
    monkeypatch.setenv("HF_TOKEN", "hf_mine")
    broken_from, is_locked, whole = 0, False, b""
    while not is_locked:
        with HubServer(MODEL, MANY_FILES) as hub:
            monkeypatch.setenv("HF_ENDPOINT", hub.url)
            hub.token = "hf_mine"
            if not whole:
                assert lock.run(str(deployment), deployment.parent) == 0
                whole, needed = target.read_bytes(), len(hub.requests)
            target.write_text("the old one")
            hub.requests.clear()
            hub.fault, hub.broken_from = fault, broken_from + 1
            capsys.readouterr()
            if is_locked := broken_from == needed:
                assert lock.run(str(deployment), deployment.parent) == 0
            else:
                assert hub.url in sentence(deployment), f"broken from request {broken_from + 1} on"
            broken_from += 1
    assert target.read_bytes() == whole
