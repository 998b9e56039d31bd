"""I3: a success has an output, and its owner gets exactly that."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from simulation.callers.history import Row
from simulation.invariants.invariant import Story, invariant, prompt_of_job, when
from simulation.runtime.model import prompt_answered
from simulation.world.world import World


@invariant
def i3_a_success_has_its_output(world: World) -> Iterator[Story]:
    """The pinned version exists as the row describes it, answers the job's prompt, and equals its copy in the table."""
    for job in world.history.rows:
        end = world.history.end_of(job)
        if not end or not end.item or end.state != "SUCCEEDED":
            continue
        pinned = end.item["output"]["M"]
        versions = world.deployment.bucket.objects.get(pinned["key"]["S"], [])
        version = next((each for each in versions if each.version_id == pinned["version_id"]["S"]), None)
        if version is None or version.written_at > end.at:
            yield job, f"{when(end.at)} pinned {pinned['key']['S']}, which did not exist"
            continue
        if version.etag.strip('"') != pinned["etag"]["S"].strip('"') or len(version.body) != int(pinned["size"]["N"]):
            yield job, "the pinned object is not the one that the row describes"
        if version.body and prompt_answered(json.loads(version.body)) != prompt_of_job(world, job):
            yield job, f"answers another prompt: {version.body[:80]!r}"
        if pinned["in_table"]["BOOL"]:
            yield from _copies(world, job, end, pinned, version.body)


@invariant
def i3_callers_get_the_pinned_output(world: World) -> Iterator[Story]:
    """Responses hold the pinned output, or a link to its version."""
    for exchange in world.history.exchanges:
        shown = exchange.shown
        if shown.get("status") != "succeeded" or exchange.action == "cancel":
            continue
        end = world.history.end_of(shown["id"])
        if end is None or not end.item or "output" not in end.item:
            yield shown["id"], "shown as succeeded, which it never was"
            continue
        pinned = end.item["output"]["M"]
        if "output_url" in shown:
            if f"versionId={pinned['version_id']['S']}" not in shown["output_url"]:
                yield shown["id"], f"linked to {shown['output_url']}"
            continue
        versions = world.deployment.bucket.objects.get(pinned["key"]["S"], [])
        body = next((each.body for each in versions if each.version_id == pinned["version_id"]["S"]), b"")
        if "output" not in shown or shown["output"] != (json.loads(body) if body else ""):
            yield shown["id"], f"{when(exchange.ended_at)} shown {str(shown)[:200]}, pinned {body[:80]!r}"


def _copies(world: World, job: str, end: Row, pinned: Mapping[str, Any], body: bytes) -> Iterator[Story]:
    """Return the copies in the table from the job's end on. Handlers ignore one with another etag."""
    writes = world.history.texts.get(f"output#{job}.{pinned['attempt']['N']}", [])
    before = [item for at, item in writes if at <= end.at]
    later = [item for at, item in writes if at > end.at]
    for item in [*before[-1:], *later]:
        if item and item["etag"] == pinned["etag"] and bytes(item["body"]["B"]) != body:
            yield job, f"its copy in the table is another text: {bytes(item['body']['B'])[:80]!r}"
    if not before:
        yield job, "has no copy in the table, but its row says so"
