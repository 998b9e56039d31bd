"""What a dashboard is told of each call and job: tokens, first token, speed, states; nothing without a dashboard."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from inference_api.http.answer import Answer
from inference_api.jobs.state import transitions
from inference_api.jobs.state.completion import Completion
from inference_api.jobs.state.job import CANCELLED, EXPIRED, FAILED, SUCCEEDED, Job, Output
from inference_api.keys.usage_row import KeyCharge
from inference_api.model import metered_call
from inference_api.model.metered_call import MeteredCall
from inference_api.shared import errors
from inference_api.shared.errors import ApiError
from inference_api.shared.job_times import JobTimes
from inference_api.shared.runtime import Runtime

CHUNK, COMMENT, DONE = b'data: {"choices": []}\n\n', b": wait\n\n", b"data: [DONE]\n\n"
TIMES = JobTimes(deadline=7200, retention=3600, invocation_timeout=900)
Lines = Callable[[], list[dict[str, Any]]]


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Return the time, which tests put forward, in a deployment with a dashboard."""
    now = [1000.0]
    monkeypatch.setenv("DASHBOARD_OF", "chat")
    monkeypatch.setattr(metered_call, "runtime", lambda: Runtime(now=lambda: now[0]))
    return now


@pytest.fixture
def figures(capsys: pytest.CaptureFixture[str]) -> Lines:
    """Return a function that reads the lines with metrics, without their envelopes."""

    def read() -> list[dict[str, Any]]:
        found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
        return [{name: value for name, value in line.items() if name != "_aws"} for line in found if "_aws" in line]

    return read


def call(owner: str = "someone") -> MeteredCall:
    return MeteredCall(None, KeyCharge(owner, 1000, 7, 100))


def pieces(clock: list[float], *timed: tuple[float, bytes]) -> Iterator[bytes]:
    for seconds, piece in timed:
        clock[0] += seconds
        yield piece


def test_a_stream_tells_tokens_first_token_and_speed(clock: list[float], figures: Lines) -> None:
    asked = call()
    list(asked.stream(pieces(clock, (2, COMMENT), (0.5, CHUNK), (1, CHUNK), (1, CHUNK), (0, DONE))))
    assert figures() == [
        {
            "Deployment": "chat",
            "TokensIn": 7,
            "TokensOut": 3,
            "FirstTokenSeconds": 2.5,
            "TokensPerSecond": 1.0,
            "caller": "someone",
        }
    ]


def test_the_engines_own_counts_come_before_estimates(clock: list[float], figures: Lines) -> None:
    asked = call()
    asked(5, 41)
    list(asked.stream(pieces(clock, (1, CHUNK), (4, CHUNK))))
    (told,) = figures()
    assert (told["TokensIn"], told["TokensOut"], told["TokensPerSecond"]) == (5, 41, 10.0)


def test_a_whole_answer_has_no_first_token(clock: list[float], figures: Lines) -> None:
    asked = call()
    with asked.whole():
        asked.answer(b'{"usage": {"prompt_tokens": 3, "completion_tokens": 9}}')
    assert figures() == [{"Deployment": "chat", "TokensIn": 3, "TokensOut": 9, "caller": "someone"}]


def test_a_call_that_did_not_run_tells_nothing(clock: list[float], figures: Lines) -> None:
    with pytest.raises(ApiError), call().whole():
        raise errors.endpoint_unreachable("no route", ran=False)
    assert figures() == []


def test_the_name_of_a_key_stands_beside_the_hash_of_its_caller(clock: list[float], figures: Lines) -> None:
    named = MeteredCall(None, KeyCharge("someone", 1000, 7, 100), "team-search")
    list(named.stream(pieces(clock, (1, CHUNK))))
    (told,) = figures()
    assert (told["caller"], told["key"]) == ("someone", "team-search")


def test_callers_stay_out_of_logs_without_requests(
    clock: list[float], figures: Lines, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("inference_api.shared.log.logs_requests", lambda: False)
    named = MeteredCall(None, KeyCharge("someone", 1000, 7, 100), "team-search")
    list(named.stream(pieces(clock, (1, CHUNK))))
    (told,) = figures()
    assert not {"caller", "key"} & told.keys()


def ended(state: str, **facts: Any) -> Job:
    job = transitions.accept("a" * 32, "someone", 900.0, TIMES)
    return Job(**{**vars(job), "state": state, "ended_at": 1000.0, "attempts": 1, "tokens_in": 4, **facts})


def count(job: Job, answer: Answer | None = None) -> None:
    unused: Any = None
    Completion(unused, unused, TIMES, Runtime(), "chat")._count(job, answer, by_sweeper=False)


@pytest.mark.parametrize(
    ("state", "metric"),
    [(SUCCEEDED, "JobsSucceeded"), (FAILED, "JobsFailed"), (EXPIRED, "JobsExpired"), (CANCELLED, "JobsCancelled")],
)
def test_the_end_of_a_job_is_counted_by_its_state(clock: list[float], figures: Lines, state: str, metric: str) -> None:
    count(ended(state))
    _, told = figures()
    assert told == {"Deployment": "chat", metric: 1, "TokensIn": 4, "caller": "someone"}


def test_a_job_tells_the_tokens_of_its_answer(clock: list[float], figures: Lines) -> None:
    output = Output("key", "version", "etag", 41, "application/json", 1, in_table=False)
    reported = Answer(b'{"usage": {"prompt_tokens": 3, "completion_tokens": 9}}', "application/json")
    count(ended(SUCCEEDED, output=output), reported)
    count(ended(SUCCEEDED, output=output, tokens_out=100))
    told = [(each["TokensIn"], each["TokensOut"]) for each in figures() if "JobsSucceeded" in each]
    assert told == [(3, 9), (4, 11)]  # the second by its length


def test_without_a_dashboard_no_figure_costs_money(figures: Lines, clock: list[float], monkeypatch: Any) -> None:
    monkeypatch.delenv("DASHBOARD_OF")
    list(call().stream(pieces(clock, (1, CHUNK))))
    count(ended(SUCCEEDED))
    (told,) = figures()
    assert told == {"Deployment": "chat", "JobsEnded": 1, "JobFailed": 0, "JobSeconds": 100.0}
