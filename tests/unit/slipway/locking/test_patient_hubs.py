"""What `lock` says while a Hub fails, how long it waits for an answer, and answers that are not a Hub's."""

import itertools
import json
import logging
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from slipway.locking import lock
from slipway.staging import hub_client, hub_retries
from slipway.staging.hub_errors import HubError
from slipway.staging.hub_repository import HubRepository
from slipway.staging.weight_files import HubFile
from support.stand_ins.hub_models import MODEL, files
from support.stand_ins.hub_server import HubAnswer, HubServer

SHARD = "model-00001-of-00002.safetensors"
PAGE = b"<html>Who are you?</html>"


@pytest.fixture(autouse=True)
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Seconds that the library would have slept."""
    waits: list[float] = []
    monkeypatch.setattr(time, "sleep", waits.append)
    return waits


def refused(deployment: Path, capsys: pytest.CaptureFixture[str]) -> list[str]:
    """The lines that a failing `lock` prints."""
    assert lock.run(str(deployment), deployment.parent) == 2
    return capsys.readouterr().err.splitlines()


def away(answer: HubAnswer) -> None:
    answer.say(503, b"")


def cut(answer: HubAnswer) -> None:
    answer.is_half = True
    answer.as_a_hub()


@pytest.mark.parametrize(("fault", "why"), [(away, "answers 503"), (cut, "gave no whole answer")])
def test_every_further_request_is_a_line_with_its_wait(
    fault: Callable[[HubAnswer], None], why: str, hub: HubServer, deployment: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hub.fault, hub.broken_from = fault, 2
    *lines, sentence = refused(deployment, capsys)
    host = hub.url.removeprefix("http://")
    assert lines == [f"{host} {why}: asking again in {wait} s" for wait in (1, 2, 4, 8)], "the second 8 s are alike"
    assert sentence.startswith(f"{hub.url} could not be asked: ")


def test_a_wait_without_a_fault_before_it_is_not_said(capsys: pytest.CaptureFixture[str]) -> None:
    wait = logging.LogRecord("huggingface_hub", logging.WARNING, "", 0, "Retrying in 2s [Retry 1/5].", None, None)
    hub_retries.AskingAgain().emit(wait)
    assert capsys.readouterr().err == ""


def test_what_fails_side_by_side_is_said_once(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    now = 100.0
    monkeypatch.setattr(hub_retries, "monotonic", lambda: now)
    for _ in range(8):
        hub_retries.say("https://hub/a", "answers 503")
    now += 2
    hub_retries.say("https://hub/b", "answers 503")
    assert capsys.readouterr().err == 2 * "hub answers 503\n"


def test_a_file_that_is_cut_off_is_asked_for_again_aloud(
    hub: HubServer, deployment: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hub.cut = {SHARD: 1}
    assert lock.run(str(deployment), deployment.parent) == 0
    assert capsys.readouterr().err == f"{hub.url.removeprefix('http://')} has cut {SHARD} off: asking again\n"


def test_a_download_that_is_cut_off_is_resumed_aloud(
    hub: HubServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    repository = HubRepository(MODEL)
    file = next(each for each in repository.files(hub.main) if each.path == SHARD)
    hub.cut = {SHARD: 1}
    assert repository.download(file, hub.main, tmp_path, lambda _: None).read_bytes() == files()[SHARD]
    assert capsys.readouterr().err.endswith(" gave no whole answer: asking again\n")


@pytest.mark.parametrize(
    "asks",
    [
        lambda repository, file, folder: repository.commit("main"),
        lambda repository, file, folder: repository.files("main"),
        lambda repository, file, folder: repository.read(SHARD, "main", 0, 10_000),
        lambda repository, file, folder: repository.download(file, "main", folder, lambda _: None),
    ],
    ids=["information", "list of files", "a file", "a download"],
)
def test_an_answer_that_trickles_is_given_up(
    asks: Callable[[HubRepository, HubFile, Path], Any], hub: HubServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = itertools.count(step=31)  # seconds between two looks, of which one comes before the answer
    repository = HubRepository(MODEL)
    wanted = next(each for each in repository.files(hub.main) if each.path == SHARD)
    monkeypatch.setattr(hub_client, "monotonic", lambda: next(clock))
    monkeypatch.setattr(hub_client, "_SLOWEST_IN_BYTES_PER_SECOND", 1_000_000)
    with pytest.raises(HubError, match=r"could not be asked: it sent only [\d,]+ bytes in 31 s"):
        asks(repository, wanted, tmp_path)


def test_a_slow_answer_is_told_of(
    hub: HubServer, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    clock = itertools.count(step=11)
    monkeypatch.setattr(hub_client, "monotonic", lambda: next(clock))
    repository = HubRepository(MODEL)
    repository.commit("main")
    assert capsys.readouterr().err == f"{hub.url.removeprefix('http://')} answers slowly: waiting for the rest\n"
    repository.read(SHARD, hub.main, 0, 100_000)
    assert capsys.readouterr().err == "", "100 kB may take longer"


def test_a_large_answer_has_a_second_for_each_thousand_bytes(hub: HubServer, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = itertools.count(step=31)
    monkeypatch.setattr(hub_client, "monotonic", lambda: next(clock))
    held = HubRepository(MODEL).read(SHARD, hub.main, 0, 100_000)
    assert held == files()[SHARD][:100_000]


def python_form(content: Any) -> Callable[[HubAnswer], None]:
    return lambda answer: answer.say(200, json.dumps(content).encode(), {"Content-Type": "application/json"})


@pytest.mark.parametrize(
    ("first", "fault", "says"),
    [
        (1, python_form([]), "its answer does not have the fields of a Hub's."),
        (1, python_form(7), "its answer does not have the fields of a Hub's."),
        (2, python_form({"error": "no"}), "its answer does not have the fields of a Hub's."),
        (2, python_form([{"type": "file"}]), "its answer does not have the fields of a Hub's."),
        (2, python_form([{"type": "file", "path": "a", "size": "9", "oid": "0"}]), "it lists files without a path or"),
        (1, lambda answer: answer.say(200, b"Welcome!"), "its answer is not JSON."),
        (2, lambda answer: answer.say(200, b"\xff\xfe"), "its answer is not JSON."),
        (3, lambda answer: answer.say(200, PAGE, {"Content-Type": "text/html"}), "it sends an HTML page for /api/mod"),
        (5, lambda answer: answer.say(200, PAGE, {"Content-Type": "text/html"}), "it sends an HTML page for /my-org/"),
    ],
)
def test_an_answer_of_another_form_is_named_in_our_words(
    first: int,
    fault: Callable[[HubAnswer], None],
    says: str,
    hub: HubServer,
    deployment: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    hub.fault, hub.broken_from = fault, first
    (sentence,) = refused(deployment, capsys)
    assert says in sentence
    assert not any(word in sentence for word in ("argument", "Expecting", "codec", "ModelInfo", "KeyError"))


def test_a_page_in_place_of_a_download_is_named(hub: HubServer, tmp_path: Path) -> None:
    repository = HubRepository(MODEL)
    wanted = next(each for each in repository.files(hub.main) if each.path == SHARD)

    def page(answer: HubAnswer) -> None:
        if answer.command == "GET" and answer.path.startswith("/storage/"):
            answer.say(200, PAGE, {"Content-Type": "text/html"})
        else:
            answer.as_a_hub()

    hub.fault = page
    with pytest.raises(HubError, match="did not answer as a Hub does: it sends an HTML page for /storage/"):
        repository.download(wanted, hub.main, tmp_path, lambda _: None)


@pytest.mark.parametrize("token", [None, "hf_mine"])
def test_a_hub_that_is_asked_too_often_wants_a_token_from_those_who_gave_none(
    token: str | None,
    hub: HubServer,
    deployment: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    if token:
        monkeypatch.setenv("HF_TOKEN", token)
    hub.fault = lambda answer: answer.say(429, b"", {"Retry-After": "60"})
    (sentence,) = refused(deployment, capsys)
    assert "was asked too often: try again in 60 seconds" in sentence
    assert ("token" in sentence) == (token is None)
