"""A stream of a model that sleeps: comments while it starts, then the endpoint's own pieces, or the reason."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from inference_api.http.gateway import Request
from inference_api.jobs import held_stream
from inference_api.model.metered_call import MeteredCall
from inference_api.model.not_ready import is_for_a_job
from inference_api.shared import errors, runtime
from inference_api.shared.errors import ApiError, InvocationError
from inference_api.shared.time_budget import LONGEST_START, TO_ANSWER
from inference_api.wake.waker import Waker
from support.stand_ins.sleeping_component import ESTIMATE, SleepingComponent, refusal

OWNER = "a" * 32
PIECES = [b"data: 1\n\n", b"data: 2\n\n"]


class Places:
    """The places of held callers."""

    def __init__(self, free: int = 1) -> None:
        self.free = free

    def take(self, owner: str, until: float) -> str | None:
        self.free -= 1
        return "place" if self.free >= 0 else None

    def give_back(self, owner: str, place: str) -> None:
        self.free += 1


class Calls:
    """The model's calls. `fails` holds errors of calls that reach the model although a copy runs."""

    def __init__(self, component: SleepingComponent, waker: Waker) -> None:
        self._component, self._waker = component, waker
        self.meter, self.places = MeteredCall(None, None), Places()
        self.fails = list[InvocationError]()
        self.asked = 0

    def __call__(self) -> Iterator[bytes]:
        self._waker.demand_copy()
        self.asked += 1
        if not self._component.current:
            raise self._waker.after_refusal(errors.endpoint_not_ready(errors.NO_CAPACITY, ran=False))
        if self.fails:
            raise self.fails.pop(0)
        yield from PIECES

    def stream(self, wait: str | None = None, seconds_left: float = 860.0) -> Iterator[bytes]:
        query = {"wait": wait} if wait else {}
        request = Request(b"", None, OWNER, query=query, ends_at=self._component.now + seconds_left)
        return held_stream.held(request, self.meter, self)


Sleep = Callable[..., Calls]


@pytest.fixture
def calls_of(monkeypatch: pytest.MonkeyPatch) -> Callable[[SleepingComponent], Calls]:
    monkeypatch.setenv("JOB_TABLE", "jobs")

    def make(component: SleepingComponent, wakes_per_day: int = 100) -> Calls:
        waker = component.waker(wakes_per_day)
        calls = Calls(component, waker)
        monkeypatch.setattr(runtime, "_current", component.runtime)
        monkeypatch.setattr(held_stream, "waker", lambda: waker)
        monkeypatch.setattr(held_stream, "_places", lambda: calls.places)
        return calls

    return make


def test_a_stream_begins_at_once_and_goes_on_with_the_endpoints_own_pieces(calls_of: Sleep) -> None:
    component = SleepingComponent()
    calls = calls_of(component)
    begun = component.now
    pieces = calls.stream()
    assert next(pieces) == f": the model is starting; about {ESTIMATE} s are left\n\n".encode()
    assert (component.now, len(component.asks), calls.places.free) == (begun, 1, 0)
    *comments, first, second = pieces
    assert [first, second] == PIECES
    assert all(comment.startswith(b": the model is starting") for comment in comments)
    assert component.starts_in <= component.now - begun <= component.starts_in + 10
    assert calls.asked == 2  # one refused call, so that the alarm adds no copies
    assert calls.places.free == 1


def test_an_awake_model_takes_no_place(calls_of: Sleep) -> None:
    calls = calls_of(SleepingComponent(current=1, desired=1))
    calls.places = Places(0)
    assert list(calls.stream()) == PIECES


def test_without_a_place_the_caller_is_told_at_once(calls_of: Sleep) -> None:
    calls = calls_of(SleepingComponent())
    calls.places = Places(0)
    with pytest.raises(ApiError) as refused:
        next(calls.stream())
    assert (refused.value.status, refused.value.code) == (429, "too_many_waiting")
    assert refused.value.retry_after_in_seconds == ESTIMATE
    assert "jobs.max_waiting" in refused.value.message


def test_a_caller_who_does_not_wait_is_not_held_and_wakes_the_model(calls_of: Sleep) -> None:
    component = SleepingComponent()
    calls = calls_of(component)
    calls.places = Places(0)
    with pytest.raises(ApiError) as refused:
        next(calls.stream("0"))
    assert (refused.value.code, refused.value.retry_after_in_seconds) == ("model_starting", ESTIMATE)
    assert not is_for_a_job(refused.value)
    assert len(component.asks) == 1
    component.sleep(300)
    assert list(calls.stream("0")) == PIECES


def test_a_wait_is_checked_whether_or_not_the_model_sleeps(calls_of: Sleep) -> None:
    for component in (SleepingComponent(), SleepingComponent(current=1, desired=1)):
        with pytest.raises(ApiError) as refused:
            next(calls_of(component).stream("841"))
        assert refused.value.field == "wait"
        assert component.asks == []


def test_a_held_caller_learns_of_a_copy_even_if_sagemaker_does_not_answer_questions(calls_of: Sleep) -> None:
    component = SleepingComponent()
    calls = calls_of(component)
    begun, pieces = component.now, calls.stream()
    next(pieces)

    def fail(operation: str) -> None:
        if operation == "describe":
            raise refusal("ThrottlingException")

    component.before_call = fail
    assert list(pieces)[-2:] == PIECES
    assert component.starts_in <= component.now - begun <= component.starts_in + 70
    assert calls.asked <= 1 + component.starts_in / 60 + 1  # each refused call counts for the alarm


def test_a_caller_who_hangs_up_ends_the_wait(calls_of: Sleep) -> None:
    component = SleepingComponent()
    calls = calls_of(component)
    pieces = calls.stream()
    next(pieces)
    calls.meter.leave(lambda: None)
    assert list(pieces) == []
    assert calls.places.free == 1
    closed: Any = calls_of(SleepingComponent()).stream()
    next(closed)
    closed.close()


@pytest.mark.parametrize(("wait", "after"), [(None, LONGEST_START), ("60", 60)])
def test_a_start_that_takes_too_long_is_given_up_with_its_reason(calls_of: Sleep, wait: str | None, after: int) -> None:
    component = SleepingComponent(starts_in=100_000)
    calls = calls_of(component)
    begun, pieces = component.now, calls.stream(wait)
    next(pieces)
    component.failure = "no capacity for ml.g5.xlarge"
    said = list[bytes]()
    with pytest.raises(ApiError) as given_up:
        said.extend(pieces)
    assert given_up.value.code == "model_starting"
    assert component.failure in given_up.value.message
    assert not is_for_a_job(given_up.value)
    assert said[-1] == f": the model is starting; SageMaker says: {component.failure}\n\n".encode()
    assert after <= component.now - begun <= after + 6
    assert calls.places.free == 1


def test_a_quota_of_zero_ends_the_stream_after_a_second_refusal(calls_of: Sleep) -> None:
    component = SleepingComponent(refuses=refusal("ResourceLimitExceeded", "the limit is 0 Instances"))
    begun, pieces = component.now, calls_of(component).stream()
    assert next(pieces) == b": the model is starting; SageMaker says: the limit is 0 Instances\n\n"
    with pytest.raises(ApiError) as failed:
        list(pieces)
    assert (failed.value.code, failed.value.status) == ("model_not_started", 503)
    assert (len(component.asks), component.now - begun < 100) == (2, True)


def test_a_start_that_failed_last_night_is_tried_again_for_the_caller(calls_of: Sleep) -> None:
    component = SleepingComponent(status="Failed", desired=1, failure="the container exited")
    calls = calls_of(component)
    component.failure = ""
    *_, first, second = calls.stream()
    assert [first, second] == PIECES


def test_a_component_that_is_deleted_during_the_wake_ends_the_stream(calls_of: Sleep) -> None:
    component = SleepingComponent()
    pieces = calls_of(component).stream()
    next(pieces)
    component.status = "Deleting"
    with pytest.raises(ApiError) as failed:
        list(pieces)
    assert failed.value.code == "model_not_started"


def test_after_the_days_wakes_a_stream_is_refused_with_a_status(calls_of: Sleep) -> None:
    component = SleepingComponent()
    component.waker(1).after_refusal(errors.endpoint_not_ready(errors.NO_CAPACITY, ran=False))
    component.sleep(600)
    component.waker(1).state()
    component.fall_asleep()
    component.sleep(600)
    calls = calls_of(component, wakes_per_day=1)
    with pytest.raises(ApiError) as refused:
        next(calls.stream())
    assert (refused.value.code, calls.asked) == ("daily_wakes_exceeded", 0)


def test_a_copy_that_is_busy_with_other_held_callers_is_asked_again(calls_of: Sleep) -> None:
    component = SleepingComponent()
    calls = calls_of(component)
    calls.fails = [errors.container_error(503, "queue full"), errors.throttled("ThrottlingException")]
    *_, first, second = calls.stream()
    assert ([first, second], calls.fails) == (PIECES, [])


@pytest.mark.parametrize("busy", [errors.container_error(429, ""), errors.throttled("ThrottlingException")])
def test_an_awake_model_that_is_busy_says_so_at_once(calls_of: Sleep, busy: InvocationError) -> None:
    component = SleepingComponent(current=1, desired=1)
    calls = calls_of(component)
    begun, calls.fails = component.now, [busy]
    with pytest.raises(InvocationError) as refused:
        next(calls.stream())
    assert (refused.value, component.now) == (busy, begun)


def test_a_model_that_has_woken_and_stays_busy_says_so_at_the_end(calls_of: Sleep) -> None:
    component = SleepingComponent()
    calls = calls_of(component)
    calls.fails = [errors.container_error(429, "") for _ in range(1000)]
    said = list[bytes]()
    with pytest.raises(ApiError) as refused:
        said.extend(calls.stream())
    assert refused.value.code == "model_busy"
    assert said[-1] == b": the model is busy\n\n"


def test_a_call_that_may_have_run_is_not_repeated(calls_of: Sleep) -> None:
    component = SleepingComponent()
    calls = calls_of(component)
    calls.fails = [errors.container_exited("gone")]
    with pytest.raises(InvocationError) as failed:
        list(calls.stream())
    assert failed.value.code == "model_error"
    assert calls.asked == 2


def test_a_scale_in_between_the_look_and_the_call_is_one_more_wake(calls_of: Sleep) -> None:
    component = SleepingComponent(current=1, desired=1)
    calls = calls_of(component)
    assert list(calls.stream()) == PIECES
    component.fall_asleep()
    *_, first, second = calls.stream()
    assert [first, second] == PIECES
    assert len(component.asks) == 1


def test_an_answer_that_outlasts_the_function_ends_with_an_error(calls_of: Sleep) -> None:
    component = SleepingComponent(starts_in=40)
    calls = calls_of(component)
    pieces = calls.stream(seconds_left=60.0)
    for piece in pieces:
        if piece == PIECES[0]:
            break
    component.now += 60 - TO_ANSWER
    with pytest.raises(InvocationError) as late:
        list(pieces)
    assert (late.value.code, late.value.ran) == ("model_timeout", True)
