"""The history of one job: changes of its row, runs of the model, events, requests and answers."""

from collections.abc import Iterator
from typing import Any

from simulation.world.world import START, World

_OMITTED = {"pk", "v", "version", "writer", "id", "owner", "listed_at", "due_shard"}


def story(world: World, job: str) -> str:
    """One line for each event, in order, with the seconds since the trial began."""
    lines = sorted([*_rows(world, job), *_runs(world, job), *_requests(world, job)])
    return "\n".join(f"{at - START:12.3f}  {line}" for at, line in lines)


def _rows(world: World, job: str) -> Iterator[tuple[float, str]]:
    before: dict[str, Any] = {}
    for row in world.history.rows.get(job, []):
        after = dict(row.item or {})
        names = sorted({*before, *after} - _OMITTED)
        changed = {name: after.get(name) for name in names if before.get(name) != after.get(name)}
        yield row.at, f"row      {changed if after else 'deleted'}"
        before = after


def _runs(world: World, job: str) -> Iterator[tuple[float, str]]:
    for run in world.deployment.runs:
        if run.job == job:
            yield run.started_at, f"model    begins attempt {run.attempt}"
            if run.ended_at:
                status = run.answer.status if run.answer else "stopped"
                yield run.ended_at, f"model    ends attempt {run.attempt}: {status}"
    for event in world.deployment.bus.events:
        if event.detail["id"] == job:
            yield event.at, f"event    {event.detail['status']}"


def _requests(world: World, job: str) -> Iterator[tuple[float, str]]:
    for exchange in world.history.exchanges:
        if job in (exchange.job, exchange.shown.get("id")):
            yield exchange.started_at, f"caller   {exchange.action}s"
            shown = exchange.shown.get("status") or str(exchange.reply.body)[:80]
            yield exchange.ended_at, f"caller   hears {exchange.reply.status} {shown}"
