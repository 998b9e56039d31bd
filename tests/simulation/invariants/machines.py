"""I11: machines run for work, all work gets one, and no job is worked on twice at once."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import pairwise
from math import inf

from inference_api.machines.row import SILENT_IN_SECONDS
from inference_api.shared.job_times import MARGIN_IN_SECONDS
from inference_api.worker.tender_plan import GRACE_IN_SECONDS
from simulation.aws.ec2 import PENDING, RUNNING, STOPPED, TERMINATED, Instance
from simulation.aws.table import LONGEST_INDEX_LAG_IN_SECONDS
from simulation.invariants.invariant import Story, invariant, when
from simulation.world.world import World

Interval = tuple[float, float]
# A tender may fail a few times in a row.
_MISSED_TENDS_IN_SECONDS = 600


@invariant
def i11_no_machine_runs_without_work(world: World) -> Iterator[Story]:
    """A machine without work stops soon after its worker never began, fell silent, or stayed for nothing."""
    trial = world.trial
    most = trial.startup + trial.idle + GRACE_IN_SECONDS + SILENT_IN_SECONDS + _MISSED_TENDS_IN_SECONDS
    work = _union(_unfinished(world))
    for instance in world.deployment.ec2.instances.values():
        for began, ended in _times_in(instance, (PENDING, RUNNING)):
            if ended == inf:
                yield "", f"{instance.id} runs for ever"
            for idle_from, idle_to in _gaps(work, began, ended):
                if idle_to - idle_from > most:
                    yield "", f"{when(idle_to)} {instance.id} ran {idle_to - idle_from:.0f} s without work"


@invariant
def i11_waiting_work_gets_a_machine(world: World) -> Iterator[Story]:
    """If a job waits and all machines are stopped, the next tender starts one, or is refused by EC2."""
    ec2 = world.deployment.ec2
    waiting = _waiting(world)
    for tend in world.tends:
        if tend.outcome != "returned" or tend.disturbed or tend.ended_at is None:
            continue
        began, ended = tend.started_at, tend.ended_at
        if any(began <= at <= ended for at in ec2.starts) or not _all_stopped(ec2.instances.values(), began, ended):
            continue
        for job, (accepted, until) in waiting.items():
            if accepted < began - LONGEST_INDEX_LAG_IN_SECONDS and ended < until:
                yield job, f"{when(began)} waits, and the tender starts none of the stopped machines"


@invariant
def i11_no_job_is_worked_on_twice_at_once(world: World) -> Iterator[Story]:
    runs: dict[str, list[Interval]] = defaultdict(list)
    for run in world.deployment.machines.runs:
        runs[run.job].append((run.started_at, run.ended_at))
    for job, times in runs.items():
        for (_, ended), (began, _) in pairwise(sorted(times)):
            if began < ended:
                yield job, f"{when(began)} two machines, or two threads of one, work on it"


@invariant
def i11_machines_stop_at_rest(world: World) -> Iterator[Story]:
    """Neither its worker nor the tender stops a machine in the middle of a job."""
    machines = world.deployment.machines
    for job in machines.left_early:
        yield job, "its worker ended in the middle of it"
    for at, instance in world.deployment.ec2.stops:
        for machine in machines.boots:
            for run in machine.model.runs if machine.instance is instance else []:
                if run.started_at < at <= run.ended_at:  # a stop ends it at once
                    yield run.job, f"{when(at)} the tender stops its machine"


def _waiting(world: World) -> dict[str, Interval]:
    """Return the time in which a job waits: from acceptance to its end, or to the latest start of an attempt."""
    margin = world.trial.invocation_timeout + MARGIN_IN_SECONDS
    found = {}
    for job, rows in world.history.rows.items():
        end = world.history.end_of(job)
        latest = rows[0].number("deadline") - margin
        found[job] = rows[0].at, min(end.at if end else inf, latest)
    return found


def _unfinished(world: World) -> list[Interval]:
    """Whether a job is open, or holds a slot for an attempt that may run."""
    return [
        (rows[0].at, next((row.at for row in rows if not row.is_open and not row.holds_slot), inf))
        for rows in world.history.rows.values()
    ]


def _times_in(instance: Instance, states: tuple[str, ...]) -> Iterator[Interval]:
    began: float | None = None
    for at, state in instance.history:
        if state in states:
            began = at if began is None else began
        elif began is not None:
            yield began, at
            began = None
    if began is not None:
        yield began, inf


def _all_stopped(instances: Iterable[Instance], began: float, ended: float) -> bool:
    """Whether there is a machine, and all of them are stopped during the whole time."""
    rest = False
    for instance in instances:
        known = [state for at, state in instance.history if at <= ended]
        during = [state for at, state in instance.history if began <= at <= ended]
        if not known or (known[-1] == TERMINATED and not during):
            continue
        if during or known[-1] != STOPPED:
            return False
        rest = True
    return rest


def _union(intervals: list[Interval]) -> list[Interval]:
    merged: list[Interval] = []
    for began, ended in sorted(intervals):
        if merged and began <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(merged[-1][1], ended)
        else:
            merged.append((began, ended))
    return merged


def _gaps(covered: list[Interval], began: float, ended: float) -> Iterator[Interval]:
    """Return the parts of a time that no interval covers."""
    at = began
    for start, end in covered:
        if end <= at:
            continue
        if start >= ended:
            break
        if start > at:
            yield at, start
        at = end
    if at < ended:
        yield at, ended
