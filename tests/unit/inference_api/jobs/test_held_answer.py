"""A caller who is held until a job ends: comments, spaces, the end, and the answers for a model that sleeps."""

import json
from collections.abc import Iterator
from dataclasses import replace
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest

from inference_api.http.answer import Answer
from inference_api.http.gateway import Request, Response, StreamedResponse
from inference_api.jobs import held_answer
from inference_api.jobs.long_poll import LongPoll
from inference_api.jobs.state.job import CANCELLED, EXPIRED, SUCCEEDED, Job, Output
from inference_api.jobs.state.transitions import accept
from inference_api.model import deployed_engine
from inference_api.model.not_ready import or_by_job
from inference_api.shared import errors
from inference_api.shared.errors import ApiError, InvocationError
from inference_api.shared.job_times import JobTimes
from inference_api.shared.runtime import Runtime
from inference_api.shared.time_budget import BEAT, SILENCE

OWNER = "a" * 32
START = 1000.0
JOB = accept("0" * 32, OWNER, START, JobTimes(3600, 3600, 60))
OUTPUT = Output("output/x", "1", "e", 10, "application/json", 1, True)


class Service:
    """One job that ends after some seconds, on a clock of its own, and the places of two callers."""

    def __init__(self) -> None:
        self.now, self.places, self.ends_after = START, 2, 30.0
        self.end = replace(JOB, state=SUCCEEDED, output=OUTPUT)
        self.submitted = list[bytes]()
        self.state, self.woken = "ready", 0
        self.runtime = Runtime(now=lambda: self.now, sleep=self.sleep, random=Random(1))
        table: Any = self
        self.long_poll = LongPoll(table, self.runtime, table, while_held=table)
        self.backend = SimpleNamespace(seconds_until_ready=lambda: 95)

    def sleep(self, seconds: float) -> None:
        self.now += seconds

    def get(self, job_id: str, *, consistent: bool = True) -> Job:
        return self.end if self.now >= START + self.ends_after else JOB

    def take(self, owner: str, until: float) -> str | None:
        if not self.places:
            return None
        self.places -= 1
        return "place"

    def give_back(self, owner: str, place: str) -> None:
        self.places += 1

    def demand(self) -> None: ...

    def submit(self, request: Request) -> Job:
        self.submitted.append(request.body)
        return JOB

    def wake(self) -> bool:
        self.woken += 1
        return self.state == "asleep"

    def read_answer(self, job: Job, output: Output) -> Answer:
        return Answer(b'{"text": "hi"}', "application/json")


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Service:
    made = Service()
    monkeypatch.setattr(held_answer, "job_service", lambda: made)
    monkeypatch.setattr(held_answer, "runtime", lambda: made.runtime)
    monkeypatch.setattr(deployed_engine, "state", lambda: made.state)
    return made


def events(answer: Answer) -> Iterator[bytes]:
    yield b"data: " + answer.body + b"\n\n"


def view(answer: Answer) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(answer.body)
    return found


def request(**query: str) -> Request:
    return Request(b"asked", None, OWNER, query=query)


def stream() -> list[bytes]:
    return list(held_answer.stream(request(), b"body", events).pieces)


def test_a_stream_of_a_sleeping_model_begins_at_once_and_has_comments_until_the_answer(service: Service) -> None:
    service.state = "asleep"
    pieces = held_answer.stream(request(), b"body", events).pieces
    assert next(pieces) == b": the model is starting\n\n"
    assert (service.now, service.submitted, service.places) == (START, [b"body"], 1)
    *comments, event = pieces
    assert set(comments) == {f": waiting for job {JOB.id}\n\n".encode()}
    assert len(comments) == (service.ends_after - 1) // BEAT
    assert event == b'data: {"text": "hi"}\n\n'
    assert service.places == 2


def test_a_caller_who_hangs_up_ends_the_wait_and_loses_nothing(service: Service) -> None:
    for sent in (1, 2):
        pieces: Any = held_answer.stream(request(), b"body", events).pieces
        for _ in range(sent):
            next(pieces)
        pieces.close()
        assert (service.places, service.now < START + service.ends_after) == (2, True)


def test_without_a_free_place_nothing_is_accepted(service: Service) -> None:
    service.places = 0
    with pytest.raises(ApiError) as refusal:
        stream()
    assert (refusal.value.status, refusal.value.code, service.submitted) == (429, "too_many_waiting", [])


@pytest.mark.parametrize(
    ("changes", "code"),
    [({"state": EXPIRED}, "deadline_exceeded"), ({"state": CANCELLED}, "job_cancelled")],
)
def test_a_job_without_an_answer_ends_the_stream_with_its_error(
    service: Service, changes: dict[str, Any], code: str
) -> None:
    service.end = replace(JOB, **changes)
    pieces = held_answer.stream(request(), b"body", events).pieces
    assert next(pieces)
    with pytest.raises(ApiError) as failure:  # `streams` makes an event of it
        list(pieces)
    assert failure.value.code == code


def test_a_whole_answer_keeps_its_status_open_for_four_minutes(service: Service) -> None:
    service.ends_after = 239
    answer = held_answer.whole(request(), b"body", view)
    assert isinstance(answer, Response)
    assert (answer.status, answer.body, service.places) == (200, {"text": "hi"}, 2)


def test_a_whole_answer_that_takes_longer_has_leading_spaces(service: Service) -> None:
    service.ends_after = 300
    answer = held_answer.whole(request(), b"body", view)
    assert isinstance(answer, StreamedResponse)
    pieces = list(answer.pieces)
    assert pieces[:-1] == [b" "] * (300 // BEAT - SILENCE // BEAT)
    assert json.loads(b"".join(pieces)) == {"text": "hi"}
    assert (answer.content_type, service.places) == ("application/json", 2)


def test_a_wait_that_is_over_names_the_job_that_goes_on(service: Service) -> None:
    with pytest.raises(ApiError) as late:
        held_answer.whole(request(wait="20"), b"body", view)
    assert (late.value.status, late.value.code, JOB.id in late.value.message) == (504, "still_running", True)
    assert (service.places, START + 19 < service.now <= START + 20) == (2, True)


@pytest.mark.parametrize(("state", "text"), [("asleep", "is starting"), ("failed", "could not be started now")])
def test_a_model_that_sleeps_is_woken_and_nothing_is_accepted(service: Service, state: str, text: str) -> None:
    service.state = state
    with pytest.raises(ApiError) as refusal:
        held_answer.whole(request(), b"body", view)
    error = refusal.value
    assert (error.status, error.code, error.retry_after_in_seconds) == (503, "model_starting", 95)
    assert text in error.message
    assert (service.woken, service.submitted, service.places) == (1, [], 2)


def test_who_asks_to_wait_is_held_while_the_model_starts(service: Service) -> None:
    service.state = "asleep"
    answer = held_answer.whole(request(wait="60"), b"body", view)
    assert (answer.status, service.woken, service.submitted) == (200, 0, [b"body"])


@pytest.mark.parametrize("wait", ["0", "841"])
def test_another_wait_is_refused(service: Service, wait: str) -> None:
    with pytest.raises(ApiError) as refusal:
        held_answer.whole(request(wait=wait), b"body", view)
    assert (refusal.value.field, service.submitted) == ("wait", [])


def failing(error: InvocationError) -> Iterator[bytes]:
    yield b": beat\n\n"
    raise error


def by_job(request: Request) -> StreamedResponse:
    return StreamedResponse(iter([b"by job"]))


def test_a_real_time_endpoint_that_is_not_ready_is_replaced_by_a_job(monkeypatch: pytest.MonkeyPatch) -> None:
    at_once = StreamedResponse(failing(errors.endpoint_not_ready("ModelNotReadyException", ran=False)))
    monkeypatch.setenv("JOB_TABLE", "table")
    answer = or_by_job(request(), lambda _: at_once, by_job)
    assert isinstance(answer, StreamedResponse)
    assert list(answer.pieces) == [b": beat\n\n", b"by job"]


@pytest.mark.parametrize(
    ("caller", "table", "ran"), [(None, "table", False), (OWNER, None, False), (OWNER, "table", True)]
)
def test_without_jobs_or_an_owner_or_if_it_may_have_run_the_error_stays(
    monkeypatch: pytest.MonkeyPatch, caller: str | None, table: str | None, ran: bool
) -> None:
    monkeypatch.setenv("JOB_TABLE", table) if table else monkeypatch.delenv("JOB_TABLE", raising=False)
    at_once = StreamedResponse(failing(errors.endpoint_not_ready("500", ran=ran)))
    answer = or_by_job(replace(request(), caller=caller), lambda _: at_once, by_job)
    assert isinstance(answer, StreamedResponse)
    with pytest.raises(InvocationError):
        list(answer.pieces)
