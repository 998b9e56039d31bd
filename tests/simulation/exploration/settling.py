"""Liveness: the end of a job without a running function, if nothing more fails."""

from collections.abc import Callable

from simulation.aws.ec2 import RUNNING as RUNNING_MACHINE
from simulation.aws.ec2 import STOPPED
from simulation.exploration.functions import BrokenError
from simulation.exploration.services import Services
from simulation.exploration.state import CLAIMS, OUTPUT, OVER, OVERDUE, REFUSED, RUNNING, State

Steps = Callable[[State], list[tuple[str, State | BrokenError]]]

# The steps that are taken, in this order, while they change the state. The first outcome of a call is the good one.
_GOOD_STEPS = ("record", "model", "worker", "lease over", "sweep")
# In turns: a machine that finds no message stops, and is started, again and again.
_GOOD_STEPS_OF_MACHINES = ("lease over", "sweep", "turn", "machine down", "tend", "silence")
_ROUNDS = 10
_MOST_STEPS = 100
_TURNS = 5  # messages of jobs that have ended come first


def broken_at_rest(state: State, steps: Steps, services: Services, max_attempts: int) -> BrokenError | None:
    """Return the invariant that is broken if nothing more fails, or None.

    After the deadline two sweeps must end every job. Before it a job with attempts left must succeed.
    """
    if state.tasks or not state.submissions:
        return None
    if state.phase == OVERDUE:
        after = _undisturbed(_undisturbed(state, steps, ("sweep",), 1), steps, ("sweep",), 1)
        if not all(_is_settled(after, job, services) for job in services.jobs(state)):
            return BrokenError("i1_every_job_ends_in_time", "two sweeps after its deadline a job is not settled")
    if state.machine and (broken := _broken_machine(state, steps, services)):
        return broken
    if state.phase == CLAIMS:
        return next(
            filter(
                None,
                (_broken_before_deadline(state, job, steps, services, max_attempts) for job in services.jobs(state)),
            ),
            None,
        )
    return None


def _broken_machine(state: State, steps: Steps, services: Services) -> BrokenError | None:
    """Return the invariant that machines break, or None.

    The next tender must start a stopped machine for a job, and a machine without a job must stop itself.
    """
    rows = [row for job in services.jobs(state) if (row := services.row(state, job))]
    if state.machine == STOPPED and any(row.is_open for row in rows):
        invariant, story = "i11_waiting_work_gets_a_machine", "the tender starts none for an open job"
        kept = _undisturbed(state, steps, ("tend",), 2).machine == STOPPED
    elif state.machine == RUNNING_MACHINE and not any(row.is_open or row.holds_slot for row in rows):
        invariant, story = "i11_no_machine_runs_without_work", "it does not stop itself"
        kept = _undisturbed(state, steps, ("turn",), _TURNS).machine == RUNNING_MACHINE
    else:
        return None
    return BrokenError(invariant, story) if kept else None


def _broken_before_deadline(
    state: State, job: str, steps: Steps, services: Services, max_attempts: int
) -> BrokenError | None:
    row = services.row(state, job)
    if not row or not row.is_open:
        return None
    fates = [state.fate((job, number)) for number in range(1, row.attempts + 1) if number not in row.ended]
    bringing = RUNNING in fates or OUTPUT in fates
    refused = row.flag("refused") or REFUSED in [state.fate((job, n)) for n in range(1, row.attempts + 1)]
    after = services.row(_settled(state, steps), job)
    end = after.state if after else "deleted"
    if row.flag("refused") and not bringing and OVER not in fates and None not in fates and end != "FAILED":
        return BrokenError("i1_every_job_ends_in_time", f"a refused job waits for its deadline: {end}")
    if not refused and (bringing or row.attempts < max_attempts) and end != "SUCCEEDED":
        return BrokenError("i1_every_job_ends_in_time", f"a job with attempts left does not succeed: {end}")
    return None


def _is_settled(state: State, job: str, services: Services) -> bool:
    row = services.row(state, job)
    return row is None or (not row.is_open and not row.holds_slot and row.flag("announced") and job in state.announced)


def _settled(state: State, steps: Steps) -> State:
    if not state.machine:
        return _undisturbed(state, steps, _GOOD_STEPS, _MOST_STEPS)
    for _ in range(_ROUNDS):
        for step in _GOOD_STEPS_OF_MACHINES:
            state = _undisturbed(state, steps, (step,), 1)
    return state


def _undisturbed(state: State, steps: Steps, good: tuple[str, ...], most: int) -> State:
    """Return the state after good steps only. A function ends before the next step begins."""
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
