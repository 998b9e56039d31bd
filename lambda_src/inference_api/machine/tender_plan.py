"""The machines to start and to stop now, as a pure function of all that is known of them."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from inference_api.machine.fleet import PENDING, RUNNING, STOPPED, Instance
from inference_api.machine.row import LOADING, SILENT_IN_SECONDS, STOPPING, Machine

# A worker stops its machine itself; one that is so late is broken.
GRACE_IN_SECONDS = 300


class Work(NamedTuple):
    """waits: a job could be begun. runs: an attempt may be running. messages: that wait in the queue, approximately."""

    waits: bool
    runs: bool
    messages: int


class Limits(NamedTuple):
    """idle, boot: in seconds. batch: the jobs that one machine takes at once."""

    idle: float
    boot: float
    batch: int


class Plan(NamedTuple):
    """stops: with the reason of each. unwell: machines that run without working, and those that are gone."""

    starts: list[Instance]
    stops: list[tuple[Instance, str]]
    unwell: int


def plan(instances: Iterable[Instance], rows: Mapping[int, Machine], work: Work, limits: Limits, now: float) -> Plan:
    """At most one start: a second machine gets a minute in which the first may take the jobs."""
    stops, coming, stopped = list[tuple[Instance, str]](), list[Instance](), list[Instance]()
    unwell, found = 0, set[int]()
    for instance in instances:
        found.add(instance.number)
        row = _row_of(instance, rows)
        if problem := _problem(instance, row, limits, now):
            unwell += 1
            stops.append((instance, problem))
        elif _is_forgotten(instance, row, work, limits, now):
            stops.append((instance, "no work for too long"))
        elif instance.state in (PENDING, RUNNING) and (row is None or row.state != STOPPING):
            coming.append(instance)
        elif instance.state == STOPPED:
            stopped.append(instance)
    unwell += sum(row.number not in found for row in rows.values() if row.instance_id)
    more = work.waits and (not coming or work.messages > limits.batch * len(coming))
    return Plan(stopped[:1] if more else [], stops, unwell)


def _row_of(instance: Instance, rows: Mapping[int, Machine]) -> Machine | None:
    """What the instance's own worker has written since the instance was started."""
    row = rows.get(instance.number)
    return row if row and row.instance_id == instance.id and row.seen_at > instance.launched_at else None


def _problem(instance: Instance, row: Machine | None, limits: Limits, now: float) -> str | None:
    if instance.state != RUNNING:
        return None
    if row is None:
        return "its worker never began" if now - instance.launched_at > limits.boot else None
    if now - row.seen_at > SILENT_IN_SECONDS:
        return "its worker is silent"
    last_ready = max(instance.launched_at, row.ready_at)
    return "its model does not answer" if row.state == LOADING and now - last_ready > limits.boot else None


def _is_forgotten(instance: Instance, row: Machine | None, work: Work, limits: Limits, now: float) -> bool:
    """Only a machine whose model has answered: the first boot, with its set-up, has a limit of its own."""
    if instance.state != RUNNING or row is None or row.state == LOADING or work.waits or work.runs:
        return False
    return now - max(instance.launched_at, row.busy_at) > limits.idle + GRACE_IN_SECONDS
