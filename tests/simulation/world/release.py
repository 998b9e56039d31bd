"""The states that a release leaves behind: a few moments of a deployment that together hold every kind of row."""

import json
from typing import Any

from inference_api.shared.attributes import number
from simulation.aws.expressions import Item
from simulation.aws.table_items import checked_size
from simulation.callers.job_callers import Habits
from simulation.callers.trial import Trial
from simulation.runtime.faults import Rates
from simulation.runtime.gateway import Reply
from simulation.runtime.model import REFUSED, body_for
from simulation.world.remains import Remains
from simulation.world.world import World

_OF_ALL = {
    *(f"job {state}" for state in ("ACCEPTED", "SUBMITTED", "SUCCEEDED", "FAILED", "EXPIRED", "CANCELLED")),
    *(f"batch {status}" for status in ("validating", "in_progress", "finalizing", "cancelling")),
    *(f"batch {status}" for status in ("completed", "cancelled", "failed", "expired")),
    *("file", "key", "owner", "output", "error", "waiting", "usage", "message"),
}
KINDS = {
    "async": _OF_ALL | {"request"},
    "realtime": _OF_ALL | {"message that waited", "usage with an open call"},
    "ec2": _OF_ALL | {f"machine {state}" for state in ("loading", "idle", "busy", "stopping")},
}
"""The kinds that the kept states of a mode hold together."""
_OWNER = "AROASCRIPT"
_BEGINS_AT = {"ec2": 430}  # once a machine is there


def trial_of(mode: str) -> Trial:
    """Return a small trial with time for each job."""
    return Trial(
        mode=mode,
        jobs=8,
        arrivals=120,
        owners=3,
        rates=Rates(model_error=0.3),
        habits=Habits(waiting=0.3),
        outages=0,
        deadline=3600,
        invocation_timeout=60,
        capacity=1,
        machines=1,
        median=12,
        long_answers=0,
        batches=3,
        batch_lines=3,
        calls=4 if mode == "realtime" else 0,
        unknown_messages=0,
        redriven_every=0,
        after_retention=False,
    )


def remains_of(mode: str) -> list[Remains]:
    """Return moments that hold every kind together, in order."""
    moments, chosen, missing = _moments(mode), list[Remains](), KINDS[mode]
    while missing:
        best = max(moments, key=lambda each: len(each.kinds & missing))
        assert best.kinds & missing, f"no moment of {mode} has {missing}"
        chosen.append(best)
        missing = missing - best.kinds
    return sorted(chosen, key=lambda each: each.at)


def _moments(mode: str) -> list[Remains]:
    """Run the trial, and copy its state when something new appears, and each minute."""
    world, found, seen = World(trial_of(mode)), list[Remains](), set[str]()

    def look() -> None:
        state = Remains.of(world.deployment, _callers(world), _keys(world))
        if state.kinds - seen or world.scheduler.now % 60 == 0:
            seen.update(state.kinds)
            found.append(state)

    def look_soon(_: object) -> None:
        world.scheduler.call_later(0, look)  # a transaction writes one table after the other

    for table in (world.deployment.table, world.deployment.usage):
        table.observers.append(look_soon)
    for minute in range(40):
        world.scheduler.call_later(60 * minute, look)
    world.scheduler.spawn(lambda: _play(world), _BEGINS_AT.get(mode, 10))
    world.run()
    return found


def _callers(world: World) -> dict[str, str]:
    batches = {each.last["id"]: each.principal for each in world.batch_callers.followed if each.last}
    return dict(world.callers.ids) | batches


def _keys(world: World) -> list[list[str]]:
    asked = (each for each in world.history.exchanges if each.key and each.prompt and each.shown)
    return [[each.principal, str(each.key), str(each.prompt), each.shown["id"]] for each in asked]


def _play(world: World) -> None:
    """Let happen what must not be left to chance."""

    def call(method: str, path: str, **request: Any) -> Reply:
        reply = world.batch_callers.gateway.call(method, path, _OWNER, **request)
        assert reply.status in (200, 202), reply
        return reply

    for prompt in (REFUSED, "expire me", "cancel me"):
        job = call("POST", "/jobs", body=body_for(prompt)).body["id"]
        world.callers.ids.append((job, _OWNER))
        if prompt == "expire me":
            _change(world, f"job#{job}", {"deadline": number(world.scheduler.now)})
    call("DELETE", "/jobs/{id}", job=job)
    form = "--x\r\nContent-Disposition: form-data; name={}\r\n\r\n{}\r\n"
    parts = form.format('"purpose"', "batch") + form.format('"file"; filename="in.jsonl"', "no JSON") + "--x--\r\n"
    headers = {"Content-Type": "multipart/form-data; boundary=x"}
    file = call("POST", "/files", body=parts.encode(), headers=headers).body["id"]
    wanted = {"input_file_id": file, "endpoint": "/v1/completions", "completion_window": "24h"}
    call("POST", "/batches", body=json.dumps(wanted).encode())
    _end_the_window(world, _batch_in_progress(world)[0])
    batch, principal = _batch_in_progress(world)
    world.batch_callers.gateway.call("POST", "/batches/{id}/cancel", principal, job=batch)


def _batch_in_progress(world: World) -> tuple[str, str]:
    """Wait for a batch whose lines run. Return its id and the principal to whom it belongs."""
    while True:
        world.scheduler.sleep(1)
        for each in world.batch_callers.followed:
            item = world.deployment.table.items.get(f"batch#{each.last.get('id')}")
            data = json.loads(item["data"]["S"]) if item else {}
            if data.get("status") == "in_progress" and not data["ending"] and data["expires_at"] > world.scheduler.now:
                return data["id"], each.principal


def _end_the_window(world: World, batch: str) -> None:
    """Let the 24 hours of a batch be over."""
    item = world.deployment.table.items[f"batch#{batch}"]
    data = json.loads(item["data"]["S"])
    data |= {"expires_at": int(world.scheduler.now), "version": data["version"] + 1}
    _change(world, f"batch#{batch}", {"data": {"S": json.dumps(data, separators=(",", ":"))}})


def _change(world: World, pk: str, attributes: Item) -> None:
    """Write attributes of a row and its next version, so that functions that have read it read it again."""
    table = world.deployment.table
    item = {**table.items[pk], **attributes, "version": number(int(table.items[pk]["version"]["N"]) + 1)}
    table.commit([(pk, item, checked_size(item))])
