"""Decides which machines to start and to stop, as a pure function of all that is known of them."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from inference_api.machines.ec2_instances import PENDING, RUNNING, STOPPED, Ec2Instance
from inference_api.machines.row import BUSY, IDLE, LOADING, SILENT_IN_SECONDS, MachineRow, usual_boot

# A worker stops its machine itself; one that is so late is broken.
GRACE_IN_SECONDS = 300


class Work(NamedTuple):
    """The work for machines.

    waits: whether a job could begin. runs: whether an attempt may be running. messages: about how many wait in the
    queue.
    """

    waits: bool
    runs: bool
    messages: int


class TenderLimits(NamedTuple):
    """The limits of a machine.

    idle: seconds without work. boot: seconds until the model answers. attempt: seconds of one attempt. batch: how many
    jobs it takes at once.
    """

    idle: float
    boot: float
    attempt: float
    batch: int


class TenderPlan(NamedTuple):
    """The instances to start, and those to stop with the reason of each.

    unwell: the number of machines that run without working, or that are gone.
    """

    starts: list[Ec2Instance]
    stops: list[tuple[Ec2Instance, str]]
    unwell: int


def plan(
    instances: Iterable[Ec2Instance], rows: Mapping[int, MachineRow], work: Work, limits: TenderLimits, now: float
) -> TenderPlan:
    """Return what to start and to stop. Start at most one machine, which may take all jobs before the next minute."""
    stops, coming, stopped = list[tuple[Ec2Instance, str]](), list[Ec2Instance](), list[Ec2Instance]()
    unwell, known = 0, {instance.id: instance for instance in instances}
    usual = usual_boot(rows.values())
    for instance in known.values():
        row, successor = _row_of(instance, rows), _successor(instance, rows, known)
        last_end = _last_end(instance, rows, successor, limits)
        problem = _stays(instance, last_end, now) if last_end else _problem(instance, row, limits, now)
        if problem:
            unwell += 1
            stops.append((instance, problem))
        elif _is_forgotten(instance, row, work, limits, now):
            stops.append((instance, "no work for too long"))
        elif _takes_jobs_soon(instance, row, usual, now):
            coming.append(instance)
        elif instance.state == STOPPED and successor is None:
            stopped.append(instance)
    found = {instance.number for instance in known.values()}
    unwell += sum(row.number not in found for row in rows.values() if row.instance_id)
    more = work.waits and (not coming or work.messages > limits.batch * len(coming))
    return TenderPlan(stopped[:1] if more else [], stops, unwell)


def _row_of(instance: Ec2Instance, rows: Mapping[int, MachineRow]) -> MachineRow | None:
    """Return the machine's row if this instance's worker has written it since the instance was started."""
    row = rows.get(instance.number)
    return row if row and row.instance_id == instance.id and row.seen_at > instance.launched_at else None


def _successor(
    instance: Ec2Instance, rows: Mapping[int, MachineRow], known: Mapping[str, Ec2Instance]
) -> Ec2Instance | None:
    """Return the instance that has taken its number: an update makes a new one before it terminates the old one."""
    row = rows.get(instance.number)
    return known.get(row.instance_id) if row and row.instance_id != instance.id else None


def _last_end(
    instance: Ec2Instance, rows: Mapping[int, MachineRow], successor: Ec2Instance | None, limits: TenderLimits
) -> float:
    """Return until when a replaced instance may work on jobs, in seconds since the epoch; 0 for any other instance.

    Its worker ends the jobs in hand, begins no others, and stops the machine.
    """
    longest, row = limits.attempt + GRACE_IN_SECONDS, rows.get(instance.number)
    if successor:
        return max(successor.launched_at, instance.launched_at) + limits.boot + longest
    was_replaced = row and row.instance_id not in ("", instance.id) and row.seen_at > instance.launched_at
    return row.seen_at + longest if row and was_replaced else 0  # replaced by an instance that is gone


def _stays(instance: Ec2Instance, last_end: float, now: float) -> str | None:
    return "it was replaced and goes on" if instance.state == RUNNING and now > last_end else None


def _takes_jobs_soon(instance: Ec2Instance, row: MachineRow | None, usual: float, now: float) -> bool:
    """Whether the instance takes jobs, or soon will. One that boots for much longer than usual does not count."""
    if row and row.state != LOADING:
        return instance.state == RUNNING and row.state in (IDLE, BUSY)
    began = max(instance.launched_at, row.ready_at if row else 0)
    return instance.state in (PENDING, RUNNING) and now - began <= 2 * usual


def _problem(instance: Ec2Instance, row: MachineRow | None, limits: TenderLimits, now: float) -> str | None:
    if instance.state != RUNNING:
        return None
    if row is None:
        return "its worker never began" if now - instance.launched_at > limits.boot else None
    if now - row.seen_at > SILENT_IN_SECONDS:
        return "its worker is silent"
    last_ready = max(instance.launched_at, row.ready_at)
    return "its model does not answer" if row.state == LOADING and now - last_ready > limits.boot else None


def _is_forgotten(instance: Ec2Instance, row: MachineRow | None, work: Work, limits: TenderLimits, now: float) -> bool:
    """Whether a machine runs on without work. A boot, until the model first answers, has a limit of its own."""
    if instance.state != RUNNING or row is None or row.state == LOADING or work.waits or work.runs:
        return False
    return now - max(instance.launched_at, row.busy_at) > limits.idle + GRACE_IN_SECONDS
