"""The machines to start and to stop now, as a pure function of all that is known of them."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from inference_api.machines.ec2_instances import PENDING, RUNNING, STOPPED, Instance
from inference_api.machines.row import BUSY, IDLE, LOADING, SILENT_IN_SECONDS, MachineRow, usual_boot

# A worker stops its machine itself; one that is so late is broken.
GRACE_IN_SECONDS = 300


class Work(NamedTuple):
    """waits: a job could be begun. runs: an attempt may be running. messages: that wait in the queue, approximately."""

    waits: bool
    runs: bool
    messages: int


class TenderLimits(NamedTuple):
    """idle, boot, attempt: in seconds. batch: the jobs that one machine takes at once."""

    idle: float
    boot: float
    attempt: float
    batch: int


class TenderPlan(NamedTuple):
    """stops: with the reason of each. unwell: machines that run without working, and those that are gone."""

    starts: list[Instance]
    stops: list[tuple[Instance, str]]
    unwell: int


def plan(
    instances: Iterable[Instance], rows: Mapping[int, MachineRow], work: Work, limits: TenderLimits, now: float
) -> TenderPlan:
    """At most one start: a second machine gets a minute in which the first may take the jobs."""
    stops, coming, stopped = list[tuple[Instance, str]](), list[Instance](), list[Instance]()
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


def _row_of(instance: Instance, rows: Mapping[int, MachineRow]) -> MachineRow | None:
    """What the instance's own worker has written since the instance was started."""
    row = rows.get(instance.number)
    return row if row and row.instance_id == instance.id and row.seen_at > instance.launched_at else None


def _successor(instance: Instance, rows: Mapping[int, MachineRow], known: Mapping[str, Instance]) -> Instance | None:
    """The instance that has its number: an update makes a new one before it terminates the old one."""
    row = rows.get(instance.number)
    return known.get(row.instance_id) if row and row.instance_id != instance.id else None


def _last_end(
    instance: Instance, rows: Mapping[int, MachineRow], successor: Instance | None, limits: TenderLimits
) -> float:
    """Until then an instance that was replaced may work on jobs; 0 for any other.

    Its worker ends those in its hands, begins no others, and stops the machine.
    """
    longest, row = limits.attempt + GRACE_IN_SECONDS, rows.get(instance.number)
    if successor:
        return max(successor.launched_at, instance.launched_at) + limits.boot + longest
    was_replaced = row and row.instance_id not in ("", instance.id) and row.seen_at > instance.launched_at
    return row.seen_at + longest if row and was_replaced else 0  # by one that is gone


def _stays(instance: Instance, last_end: float, now: float) -> str | None:
    return "it was replaced and goes on" if instance.state == RUNNING and now > last_end else None


def _takes_jobs_soon(instance: Instance, row: MachineRow | None, usual: float, now: float) -> bool:
    """One that boots for much longer than usual is not waited for."""
    if row and row.state != LOADING:
        return instance.state == RUNNING and row.state in (IDLE, BUSY)
    began = max(instance.launched_at, row.ready_at if row else 0)
    return instance.state in (PENDING, RUNNING) and now - began <= 2 * usual


def _problem(instance: Instance, row: MachineRow | None, limits: TenderLimits, now: float) -> str | None:
    if instance.state != RUNNING:
        return None
    if row is None:
        return "its worker never began" if now - instance.launched_at > limits.boot else None
    if now - row.seen_at > SILENT_IN_SECONDS:
        return "its worker is silent"
    last_ready = max(instance.launched_at, row.ready_at)
    return "its model does not answer" if row.state == LOADING and now - last_ready > limits.boot else None


def _is_forgotten(instance: Instance, row: MachineRow | None, work: Work, limits: TenderLimits, now: float) -> bool:
    """Only a machine whose model has answered: the first boot, with its set-up, has a limit of its own."""
    if instance.state != RUNNING or row is None or row.state == LOADING or work.waits or work.runs:
        return False
    return now - max(instance.launched_at, row.busy_at) > limits.idle + GRACE_IN_SECONDS
