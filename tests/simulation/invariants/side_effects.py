"""Side effects of jobs: events, row sizes, logs without texts, valid requests."""

import json
from collections.abc import Iterator

from simulation.invariants.invariant import Story, invariant, when
from simulation.runtime.model import CANARY
from simulation.world.world import World

MAX_ROW_BYTES = 1024
SHOWN = {
    "ACCEPTED": "queued",
    "SUBMITTED": "running",
    "SUCCEEDED": "succeeded",
    "FAILED": "failed",
    "EXPIRED": "expired",
    "CANCELLED": "cancelled",
}


@invariant
def ends_are_announced(world: World) -> Iterator[Story]:
    """Each job that ended has an event with its owner and status; no other job has one."""
    announced = set()
    for event in world.deployment.bus.events:
        job, end = event.detail["id"], world.history.end_of(event.detail["id"])
        announced.add(job)
        if end is None or event.at < end.at or event.detail["status"] != SHOWN[end.state]:
            yield job, f"{when(event.at)} announced as {event.detail['status']}"
        elif event.detail["owner"] != end.text("owner"):
            yield job, "announced for another owner"
    for job in world.history.rows:
        if job not in announced:
            yield job, "ended and was never announced"


@invariant
def rows_are_small_and_hold_no_text(world: World) -> Iterator[Story]:
    for job, rows in world.history.rows.items():
        for row in rows:
            if row.size >= MAX_ROW_BYTES:
                yield job, f"{when(row.at)} its row has {row.size} bytes"
            if CANARY in json.dumps(row.item, default=str):
                yield job, f"{when(row.at)} its row holds a text"
    for write in world.history.writes_of_others:
        if CANARY in json.dumps(write.new, default=str):
            yield "", f"{when(write.at)} {write.pk} holds a text"


@invariant
def texts_stay_out_of_logs_and_events(world: World) -> Iterator[Story]:
    for text in world.log.leaks[:5]:
        yield "", f"logged: {text[:200]}"
    for event in world.deployment.bus.events:
        if CANARY in json.dumps(event.detail):
            yield event.detail["id"], "its event holds a text"


@invariant
def requests_are_valid(world: World) -> Iterator[Story]:
    for story, times in world.faults.invalid_calls.items():
        yield "", f"{times} times: {story}"
