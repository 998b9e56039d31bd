"""All breaches of one trial: of its history, and of every change."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import pairwise
from math import inf

from simulation.aws.realtime_endpoint import MAX_SECONDS
from simulation.callers.history import Row
from simulation.invariants import (
    accounts,
    batches,
    callers,
    ends,
    limits,
    machines,
    messages,
    outputs,
    side_effects,
    wakes,
)
from simulation.invariants.changes import (
    CHECKED_AT_CHANGES,
    Broken,
    Moment,
    broken_by_change,
    broken_by_invocation,
    broken_by_output,
)
from simulation.invariants.invariant import INVARIANTS, Breach, row_at, when
from simulation.world.world import World

Busy = dict[str, list[tuple[int, float, float]]]  # by job: attempt, begin and end

# Importing them registers their invariants.
MODULES = (accounts, batches, callers, ends, limits, machines, messages, outputs, side_effects, wakes)
NAMES = {*INVARIANTS, *CHECKED_AT_CHANGES}


def breaches(world: World) -> list[Breach]:
    """Return the breaches of all invariants."""
    found = [Breach(name, job, story) for name, check in INVARIANTS.items() for job, story in check(world)]
    return [*found, *_breaches_of_changes(world)]


def _breaches_of_changes(world: World) -> Iterator[Breach]:
    """Check rows, invocations and outputs, each at its own time."""
    busy, written = _busy(world), _outputs(world)
    for job, rows in world.history.rows.items():
        present = [row for row in rows if row.item]
        for before, after in pairwise([None, *present]):
            assert after
            yield from _breaches_at(
                job,
                after.at,
                broken_by_change(before, after, _moment(after, busy[job], written[job], world.trial.retention)),
            )
        for _, at in written[job]:
            yield from _breaches_at(job, at, broken_by_output(row_at(world, job, at)))
    asked: Counter[tuple[str, int]] = Counter()
    for job, times in busy.items():
        for attempt, at, _ in times:
            row = row_at(world, job, at)
            yield from _breaches_at(job, at, broken_by_invocation(row, attempt, asked[job, attempt], at))
            asked[job, attempt] += 1


def _breaches_at(job: str, at: float, broken: Iterator[Broken]) -> Iterator[Breach]:
    for name, story in broken:
        yield Breach(name, job, f"{when(at)} {story}")


def _moment(row: Row, busy: list[tuple[int, float, float]], outputs: list[tuple[int, float]], retention: int) -> Moment:
    """Return the state at a time, without a latest start: a claim is written seconds after its decision."""
    return Moment(
        outputs=[attempt for attempt, at in outputs if at <= row.at],
        running=[attempt for attempt, began, ended in busy if began < row.at < ended],
        now=row.at,
        latest_start=inf,
        retention=retention,
    )


def _outputs(world: World) -> dict[str, list[tuple[int, float]]]:
    """Return the time of each attempt's first output."""
    written: dict[str, list[tuple[int, float]]] = defaultdict(list)
    by_endpoint = {request.output_key: (request.job, request.attempt) for request in world.deployment.requests}
    for key in world.deployment.bucket.keys("output/"):
        job, attempt = by_endpoint.get(key) or _of_worker(key)
        written[job].append((attempt, world.deployment.bucket.objects[key][0].written_at))
    return written


def _of_worker(key: str) -> tuple[str, int]:
    _, job, attempt, _ = key.split("/")
    return job, int(attempt)


def _busy(world: World) -> Busy:
    """Return the times of attempts on the model. A call that SageMaker cuts off is over."""
    busy: Busy = defaultdict(list)
    for request in world.deployment.requests:
        busy[request.job].append((request.attempt, request.received_at, request.over_at))
    for run in world.deployment.model.runs if world.trial.mode == "realtime" else []:
        busy[run.job].append((run.attempt, run.started_at, min(run.ended_at, run.started_at + MAX_SECONDS)))
    for run in world.deployment.machines.runs:
        if not run.given_back:
            busy[run.job].append((run.attempt, run.started_at, run.ended_at))
    return busy
