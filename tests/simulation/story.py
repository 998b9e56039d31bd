"""The history of one job in the order in which it happened, for whoever has to find out why a promise was broken."""

from collections.abc import Iterator
from typing import Any

from simulation.world import START, World

_QUIET = {"pk", "v", "version", "writer", "id", "owner", "listed_at", "due_shard"}


def story(world: World, job: str) -> str:
    """One line for each change of its row, each output, each run of the model, each event, each question and answer."""
    lines = sorted([*_rows(world, job), *_files(world, job), *_runs(world, job), *_talk(world, job)])
    return "\n".join(f"{at - START:12.3f}  {line}" for at, line in lines)


def _rows(world: World, job: str) -> Iterator[tuple[float, str]]:
    before: dict[str, Any] = {}
    for row in world.history.rows.get(job, []):
        after = dict(row.item or {})
        changed = {
            name: _plain(after.get(name))
            for name in sorted({*before, *after} - _QUIET)
            if before.get(name) != after.get(name)
        }
        yield row.at, f"row      {changed}" if after else "row      deleted"
        before = after


def _files(world: World, job: str) -> Iterator[tuple[float, str]]:
    for prefix in (f"input/{job}", f"output/{job}/", f"failure/{job}/"):
        for key in world.deployment.bucket.keys(prefix):
            for version in world.deployment.bucket.objects[key]:
                yield version.written_at, f"s3       {key} {len(version.body)} bytes"


def _runs(world: World, job: str) -> Iterator[tuple[float, str]]:
    for request in world.deployment.requests:
        if request.job == job:
            yield request.received_at, f"endpoint accepts attempt {request.attempt}"
    for run in world.deployment.model.runs:
        if run.job == job:
            yield run.started_at, f"model    begins attempt {run.attempt}"
            if run.ended_at:
                yield (
                    run.ended_at,
                    f"model    ends attempt {run.attempt}: {run.answer.status if run.answer else 'stopped'}",
                )
    for event in world.deployment.bus.events:
        if event.detail["id"] == job:
            yield event.at, f"event    {event.detail['status']}"


def _talk(world: World, job: str) -> Iterator[tuple[float, str]]:
    """Of polls only those that tell something new."""
    heard = ""
    for exchange in world.history.exchanges:
        if job in (exchange.job, exchange.shown.get("id")):
            answer = f"{exchange.reply.status} {exchange.shown.get('status') or str(exchange.reply.body)[:80]}"
            if exchange.action != "poll" or answer != heard:
                yield exchange.started_at, f"caller   {exchange.action}s"
                yield exchange.ended_at, f"caller   hears {answer}"
            heard = answer


def _plain(value: Any) -> Any:
    if value is None:
        return None
    ((_, content),) = value.items()
    return {name: _plain(each) for name, each in content.items()} if isinstance(content, dict) else content
