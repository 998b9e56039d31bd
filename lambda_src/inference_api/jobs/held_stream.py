"""A stream of a model that sleeps: the caller is held with comments, then gets the endpoint's own pieces."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache

from inference_api.http.gateway import Request
from inference_api.http.streaming_runtime import close
from inference_api.jobs.state.waiting_places import WaitingPlaces
from inference_api.model.metered_call import MeteredCall
from inference_api.model.not_ready import is_for_a_job
from inference_api.shared import errors
from inference_api.shared.conditional_writes import PASSING_ERRORS
from inference_api.shared.errors import InvocationError
from inference_api.shared.log import log
from inference_api.shared.model_states import FAILED, READY
from inference_api.shared.runtime import ONE_QUICK_ATTEMPT, runtime
from inference_api.shared.settings import job_settings
from inference_api.shared.time_budget import LONGEST_HOLD, LONGEST_START, TO_ANSWER
from inference_api.wake.parts import waker
from inference_api.wake.row import ASK_EVERY_IN_SECONDS, LOOK_EVERY_IN_SECONDS, WakeRow

# A caller who has hung up is noticed so soon.
_PAUSE_IN_SECONDS = 0.5
# A start that failed is tried again once before the caller learns of it.
_PATIENCE_WITH_FAILURES_IN_SECONDS = 1.5 * ASK_EVERY_IN_SECONDS
# A model that has just woken has little room, and all held callers come at once.
_BUSY = ("model_busy", "throttled")


def held(request: Request, meter: MeteredCall, ask: Callable[[], Iterator[bytes]]) -> Iterator[bytes]:
    """Yield the pieces of an answer. While the model sleeps or starts, yield comments, then ask again.

    ask: asks the model, and yields its pieces. The request's `wait` limits the time until the model is asked; with 0
    the caller is not held. Raises ApiError: before the first piece if the caller is not held or finds no place, or if
    the day's wakes are used up.
    """
    wait = request.whole_number("wait", 0, LONGEST_HOLD, LONGEST_START)
    try:
        yield from ask()
        return
    except InvocationError as error:
        if not _is_of_a_start(error):
            raise
        retry_after = error.retry_after_in_seconds or ASK_EVERY_IN_SECONDS
        if not wait and is_for_a_job(error):
            raise errors.model_starting(retry_after, asked=True) from None  # no job answers it
        if not wait:
            raise
    now = runtime().now()
    end = min(now + wait, request.ends_at - TO_ANSWER)
    place = _places().take(request.owner, end)
    if place is None:
        raise errors.too_many_held(retry_after)
    try:
        yield from _held(now, end, request.ends_at - TO_ANSWER, meter, ask)
    finally:
        with suppress(*PASSING_ERRORS):  # the place expires by itself
            _places().give_back(request.owner, place)


def _held(
    started: float, end: float, answered_by: float, meter: MeteredCall, ask: Callable[[], Iterator[bytes]]
) -> Iterator[bytes]:
    found, row, busy, asked_at = None, None, None, started
    while not meter.is_left:
        # If looks fail, only a call tells that a copy runs. It is rare, because a refused one counts for the alarm.
        is_blind = not found and runtime().now() - asked_at >= ASK_EVERY_IN_SECONDS
        found = None if is_blind else _look()
        row = found or row
        if is_blind or (found and found.state == READY):
            asked_at = runtime().now()
            try:
                yield from _until(answered_by, ask())
                return
            except InvocationError as error:
                busy = error if error.code in _BUSY and not error.ran else None
                if not busy and not _is_of_a_start(error):
                    raise
        elif found:
            busy = None
            _demand_progress(found, started)
        if runtime().now() >= end:
            raise busy or errors.still_starting(round(end - started), row.reason if row else "")
        yield b": the model is busy\n\n" if busy else _comment(row)
        _pause(meter)


def _is_of_a_start(error: InvocationError) -> bool:
    """Whether a model that sleeps or starts has refused the call. It certainly did not run."""
    return is_for_a_job(error) or error.code == "model_not_started"


def _look() -> WakeRow | None:
    try:
        return waker().wake()
    except PASSING_ERRORS as error:
        log({"cause": f"{type(error).__name__} at waking the model"})
        return None


def _demand_progress(row: WakeRow, started: float) -> None:
    """Raises ApiError if a start keeps failing, or if the model sleeps and may not be woken today."""
    error = waker().refusal(row)
    fails = row.state == FAILED and runtime().now() - started >= _PATIENCE_WITH_FAILURES_IN_SECONDS
    if fails or error.code == "daily_wakes_exceeded":
        raise error


def _comment(row: WakeRow | None) -> bytes:
    text = ": the model is starting"
    if row and row.reason:
        text += f"; SageMaker says: {row.reason}"
    elif row and (seconds := waker().seconds_until_ready(row)):
        text += f"; about {seconds} s are left"
    return text.encode("ascii", "replace") + b"\n\n"


def _pause(meter: MeteredCall) -> None:
    until = runtime().now() + LOOK_EVERY_IN_SECONDS
    while runtime().now() < until and not meter.is_left:
        runtime().sleep(_PAUSE_IN_SECONDS)


def _until(moment: float, pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Yield the pieces. Raises InvocationError if they last longer: the function would end without a word."""
    try:
        for piece in pieces:
            yield piece
            if runtime().now() >= moment:
                raise errors.model_timeout()
    finally:
        close(pieces)


@cache
def _places() -> WaitingPlaces:
    jobs = job_settings()
    client = runtime().client("dynamodb", ONE_QUICK_ATTEMPT)
    return WaitingPlaces(client, jobs.table, runtime(), jobs.max_waiting)
