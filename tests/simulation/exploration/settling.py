"""Liveness: the end of a job without a running function, if nothing more fails."""

from collections.abc import Callable

from simulation.exploration.functions import BrokenError
from simulation.exploration.services import Services
from simulation.exploration.state import CLAIMS, OUTPUT, OVER, OVERDUE, REFUSED, RUNNING, State

Steps = Callable[[State], list[tuple[str, State | BrokenError]]]

# Taken in this order while they change the state; the first outcome of a call is the good one.
_GOOD_STEPS = ("record", "model", "worker", "lease over", "sweep")
_MOST_STEPS = 100


def broken_at_rest(state: State, steps: Steps, services: Services, max_attempts: int) -> BrokenError | None:
    """After the deadline two sweeps end every job; before it a job with attempts left succeeds."""
    if state.tasks or not state.submissions:
        return None
    if state.phase == OVERDUE:
        after = _undisturbed(_undisturbed(state, steps, ("sweep",), 1), steps, ("sweep",), 1)
        if not all(_is_settled(after, job, services) for job in services.jobs(state)):
            return BrokenError("i1_every_job_ends_in_time", "two sweeps after its deadline a job is not settled")
    if state.phase == CLAIMS:
        return next(
            filter(
                None,
                (_broken_before_deadline(state, job, steps, services, max_attempts) for job in services.jobs(state)),
            ),
            None,
        )
    return None


def _broken_before_deadline(
    state: State, job: str, steps: Steps, services: Services, max_attempts: int
) -> BrokenError | None:
    row = services.row(state, job)
    if not row or not row.is_open:
        return None
    fates = [state.fate((job, number)) for number in range(1, row.attempts + 1) if number not in row.ended]
    bringing = RUNNING in fates or OUTPUT in fates
    refused = row.flag("refused") or REFUSED in [state.fate((job, n)) for n in range(1, row.attempts + 1)]
    after = services.row(_undisturbed(state, steps, _GOOD_STEPS, _MOST_STEPS), job)
    end = after.state if after else "deleted"
    if row.flag("refused") and not bringing and OVER not in fates and None not in fates and end != "FAILED":
        return BrokenError("i1_every_job_ends_in_time", f"a refused job waits for its deadline: {end}")
    if not refused and (bringing or row.attempts < max_attempts) and end != "SUCCEEDED":
        return BrokenError("i1_every_job_ends_in_time", f"a job with attempts left does not succeed: {end}")
    return None


def _is_settled(state: State, job: str, services: Services) -> bool:
    row = services.row(state, job)
    return row is None or (not row.is_open and not row.holds_slot and row.flag("announced") and job in state.announced)


def _undisturbed(state: State, steps: Steps, good: tuple[str, ...], most: int) -> State:
    """The state after good steps only; a function ends before the next step begins."""
    for _ in range(most):
        while state.tasks:
            state = next(_good(after) for name, after in steps(state) if ": " in name and "dies" not in name)
        options = [(name, after) for name, after in steps(state) if "dies" not in name]
        better = [_good(after) for start in good for name, after in options if name.startswith(start)]
        state = next((each for each in better if each != state), state)
    return state


def _good(after: State | BrokenError) -> State:
    if isinstance(after, BrokenError):
        raise after
    return after
