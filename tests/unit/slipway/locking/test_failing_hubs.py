"""`lock`, `check --hub` and `stage` with a Hub that is away, slow, busy or none, or has renamed the model."""

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from huggingface_hub import constants

from llm_hosting.deployment.lock import HUB
from slipway.checking import check
from slipway.locking import lock
from slipway.staging.hub_errors import HubError
from slipway.staging.hub_repository import HubRepository
from slipway.staging.stage import parsed
from slipway.staging.staging import StagingError, stage
from slipway.staging.weights_prefix import WeightsPrefix
from support.patience import wait_for_event
from support.repository import ROOT
from support.stand_ins.hub_models import MODEL, files, safetensors
from support.stand_ins.hub_server import HubAnswer, HubServer

OLD = "old-org/tuned"
TOKEN = "hf_mine"
LARGE = "model-00001-of-00002.safetensors"
SHARDS = {f"model-{number:05}-of-00004.safetensors": safetensors({"a": ("F16", [10], 20)}) for number in range(1, 4)}
MANY_FILES = {
    **{path: body for path, body in files().items() if path.endswith(".json")},
    **SHARDS,
    "model-00004-of-00004.safetensors": files()[LARGE],  # the Hub sends to another host for it
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


def stops_half_way(answer: HubAnswer) -> None:
    answer.say(200, b"[" + bytes(99), held=True)


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


def gated_hub(monkeypatch: pytest.MonkeyPatch) -> HubServer:
    hub = HubServer(MODEL, MANY_FILES)
    hub.token = TOKEN
    monkeypatch.setenv("HF_ENDPOINT", hub.url)
    return hub


@pytest.fixture(autouse=True)
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Seconds that the library would have slept."""
    waits: list[float] = []
    monkeypatch.setattr(time, "sleep", waits.append)
    return waits


@pytest.fixture
def sentence(capsys: pytest.CaptureFixture[str]) -> Callable[[Path], str]:
    """The sentence that a failing `lock` prints, after the lines that it asks again."""

    def said(deployment: Path) -> str:
        there = {path: path.read_bytes() for path in deployment.parent.iterdir()}
        assert lock.run(str(deployment), deployment.parent) == 2
        assert {path: path.read_bytes() for path in deployment.parent.iterdir()} == there
        printed = capsys.readouterr()
        *before, last = printed.err.splitlines()
        assert (printed.out, [line for line in before if ": asking again" not in line]) == ("", [])
        return last

    return said


@pytest.mark.slow
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
    lock_file = deployment.with_suffix(".lock.json")
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    with gated_hub(monkeypatch) as hub:
        assert lock.run(str(deployment), deployment.parent) == 0
        needed = len(hub.requests)
    lock_file.write_text("the old one")
    capsys.readouterr()
    for first in range(1, needed + 1):
        with gated_hub(monkeypatch) as hub:
            hub.fault, hub.broken_from = fault, first
            assert hub.url in sentence(deployment)


@pytest.mark.parametrize(
    ("fault", "waited"),
    [
        (no_answer, [1]),
        (half_an_answer, []),
        (says(503), [1]),
        (says(429, Retry_After="9"), [10]),
        (says(429, RateLimit='"resolvers";r=0;t=9', Retry_After="3600"), [10]),
    ],
)
def test_a_file_is_asked_for_again_after_a_short_wait(
    fault: Callable[[HubAnswer], None], waited: list[float], hub: HubServer, waits: list[float]
) -> None:
    hub.fault = once(fault)
    assert HubRepository(MODEL).read("config.json", hub.main, 0, 1) == b"{"
    assert waits == waited


@pytest.mark.parametrize("first", [1, 2, 5], ids=["information", "list of files", "a file"])
def test_a_long_wait_is_a_sentence_with_its_seconds_and_the_setting_that_helps(
    first: int, hub: HubServer, deployment: Path, sentence: Callable[[Path], str], waits: list[float]
) -> None:
    hub.fault, hub.broken_from = says(429, Retry_After="3600"), first
    said = sentence(deployment)
    assert "was asked too often: try again in 3600 seconds, or give a token with HF_TOKEN" in said
    hub.fault = says(503, Retry_After="3600")
    assert "it answers 503 Service Unavailable; try again in 3600 seconds" in sentence(deployment)
    assert waits == []


def test_a_download_waits_for_the_end_of_the_hubs_window(hub: HubServer, tmp_path: Path, waits: list[float]) -> None:
    repository = HubRepository(MODEL)
    commit = repository.commit("main")
    file = next(each for each in repository.files(commit) if each.path == LARGE)
    hub.fault = says(429, Retry_After="301")
    with pytest.raises(HubError, match="try again in 301 seconds"):
        repository.download(file, commit, tmp_path, lambda _: None)
    hub.requests.clear()
    hub.fault, hub.broken_from = once(says(429, Retry_After="290")), 2
    assert repository.download(file, commit, tmp_path, lambda _: None).read_bytes() == files()[LARGE]
    assert waits == [291]


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        (says(401, X_Error_Code="RepoNotFound"), f"has no {MODEL}, or it is private; then give a token with HF_TOKEN"),
        (says(404, X_Error_Code="RevisionNotFound"), f"model.revision: {MODEL} has no 'main'"),
        (says(401, X_Error_Message="Invalid credentials in Authorization header"), "does not know the token; give an"),
        (says(403, X_Error_Message="Access to this resource is disabled."), f"{MODEL} was disabled"),
        (says(403, X_Error_Message="Not from here."), "could not be asked: it answers 403 Forbidden Not from here."),
        (a_login, "did not answer as a Hub does"),
    ],
)
def test_what_the_hub_refuses_is_one_sentence(
    fault: Callable[[HubAnswer], None], says: str, hub: HubServer, deployment: Path, sentence: Callable[[Path], str]
) -> None:
    hub.fault = fault
    assert says in sentence(deployment)


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("http://127.0.0.1:9", "nothing listens there"),
        ("http://hub.invalid", "its name is not known here, or this machine is on no network"),
        ("huggingface.co", ""),
        ("http://a\x7f", ""),
    ],
)
def test_a_hub_that_is_away_is_one_sentence(
    url: str, says: str, deployment: Path, monkeypatch: pytest.MonkeyPatch, sentence: Callable[[Path], str]
) -> None:
    monkeypatch.setenv("HF_ENDPOINT", url)
    said = sentence(deployment)
    assert f"{url} could not be asked: {says}" in said
    assert "Errno" not in said


def test_a_hub_that_must_not_be_asked_names_the_variable(
    hub: HubServer, deployment: Path, monkeypatch: pytest.MonkeyPatch, sentence: Callable[[Path], str]
) -> None:
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    assert "HF_HUB_OFFLINE (or TRANSFORMERS_OFFLINE) is set, so" in sentence(deployment)
    assert hub.requests == []


def test_check_says_the_same(hub: HubServer, deployment: Path, capsys: pytest.CaptureFixture[str]) -> None:
    hub.fault, hub.broken_from = says(429, Retry_After="3600"), 4
    assert check.run([str(deployment)], deployment.parent, check.CheckOptions(hub=True)) == 2
    printed = capsys.readouterr()
    assert "try again in 3600 seconds" in printed.err
    assert (printed.out, printed.err.count("\n")) == ("", 1)


@pytest.mark.parametrize(
    "asks",
    [
        lambda repository: repository.commit("main"),
        lambda repository: repository.files("main"),
        lambda repository: repository.demand_access(),
        lambda repository: repository.read("config.json", "main", 0, 100),
    ],
    ids=["information", "list of files", "access", "a file"],
)
@pytest.mark.parametrize("fault", [never, stops_half_way], ids=["never", "half"])
def test_no_answer_is_waited_for_without_end(
    fault: Callable[[HubAnswer], None],
    asks: Callable[[HubRepository], object],
    hub: HubServer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(constants, "HF_HUB_DOWNLOAD_TIMEOUT", 0.02)
    repository = HubRepository(MODEL)
    repository.about = {"gated": True}
    hub.fault = fault
    with pytest.raises(HubError, match=r"could not be asked: .*timed out"):
        asks(repository)


class Occupied(WeightsPrefix):
    """A prefix that nothing is staged to."""

    def manifest(self) -> None:
        return None

    def objects(self) -> dict[str, int]:
        return {"another": 1}


@pytest.mark.parametrize("is_absolute", [True, False])
def test_a_renamed_repository_is_found_and_its_name_is_said(
    is_absolute: bool, hub: HubServer, deployment: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def renamed(answer: HubAnswer) -> None:
        if OLD not in answer.path:
            answer.as_a_hub()
            return
        location = answer.path.replace(OLD, MODEL)
        answer.say(307, b"", {"Location": f"{hub.url}{location}" if is_absolute else location})

    deployment.write_text(deployment.read_text().replace(MODEL, OLD))
    hub.fault = renamed
    assert lock.run(str(deployment), deployment.parent) == 0
    assert f"{OLD} of {HUB}, where it is named {MODEL} now, commit {hub.main[:7]}" in capsys.readouterr().out
    content = json.loads(deployment.with_suffix(".lock.json").read_text())
    assert (content["model"], content["renamed_to"]) == (OLD, MODEL)
    assert check.run([str(deployment)], deployment.parent, check.CheckOptions(hub=True, as_json=True)) == 0
    assert f"where it is named {MODEL} now" in json.loads(capsys.readouterr().out)["facts"]
    repository = HubRepository(OLD)
    with pytest.raises(StagingError, match="holds 1 objects"):
        stage(parsed(deployment), repository, Occupied(None, "s3://bucket/tuned/", None), tmp_path)
    assert f"{OLD} is named {MODEL} on the Hub now." in capsys.readouterr().out
    file = next(each for each in repository.files(hub.main) if each.path == LARGE)
    assert repository.download(file, hub.main, tmp_path, lambda _: None).read_bytes() == files()[LARGE]


def test_a_server_without_ranges_is_read_as_far_as_needed(hub: HubServer, deployment: Path) -> None:
    def whole(answer: HubAnswer) -> None:
        del answer.headers["range"]
        answer.as_a_hub()

    assert lock.run(str(deployment), deployment.parent) == 0
    content = deployment.with_suffix(".lock.json").read_bytes()
    hub.fault, hub.held = whole, {LARGE}
    assert HubRepository(MODEL).read(LARGE, hub.main, 100, 50) == files()[LARGE][100:150]
    assert not hub.release.is_set(), "the second half was not waited for"
    assert lock.run(str(deployment), deployment.parent) == 0
    assert deployment.with_suffix(".lock.json").read_bytes() == content


def test_ctrl_c_ends_a_lock_at_once_and_nothing_is_written(
    hub: HubServer, deployment: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub.held = {LARGE}  # for a minute
    monkeypatch.setenv("HF_HUB_DOWNLOAD_TIMEOUT", "600")
    command = [sys.executable, "-m", "slipway", "lock", str(deployment)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        wait_for_event(hub.held_now, "the request for the weights", process)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=50)
    assert (process.returncode, out, err) == (130, "", "\nstopped\n")
    assert [path.name for path in deployment.parent.iterdir()] == [deployment.name]
