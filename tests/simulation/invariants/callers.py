"""I6 and I7: a job belongs to its submitter alone; an idempotency key makes one job."""

import json
from collections import Counter, defaultdict
from collections.abc import Iterator

from simulation.invariants.invariant import Story, invariant, prompt_of_job, when
from simulation.runtime.gateway import ROUTES
from simulation.world.world import World

_FOR_LIFE = ("id", "owner", "accepted_at", "deadline", "listed_at")


@invariant
def i6_owner_and_input_never_change(world: World) -> Iterator[Story]:
    for job, rows in world.history.rows.items():
        for name in _FOR_LIFE:
            values = {str(row.item.get(name)) for row in rows if row.item}
            if len(values) != 1:
                yield job, f"{name} changed: {values}"
        bodies = {version.body for version in world.deployment.bucket.objects.get(f"input/{job}", [])}
        if len(bodies) != 1:
            yield job, f"has {len(bodies)} inputs"


@invariant
def i6_only_the_owner_sees_a_job(world: World) -> Iterator[Story]:
    """Other callers get the same answer for unknown, foreign and malformed ids; lists hold the caller's jobs only."""
    answers: Counter[str] = Counter()
    owners = _owners(world)
    for exchange in world.history.exchanges:
        if exchange.action == "intrude" and exchange.reply.status < 500:
            answers[json.dumps([exchange.reply.status, exchange.reply.body, sorted(exchange.reply.headers)])] += 1
        if exchange.action == "list" and exchange.reply.status == 200:
            for listed in exchange.reply.body["jobs"]:
                owner = world.history.final_row(listed["id"]).text("owner")
                if owners.get(exchange.principal, owner) != owner:
                    yield listed["id"], f"{when(exchange.ended_at)} listed for {exchange.principal}"
    if len(answers) > 1:
        yield "", f"other callers get different answers: {answers}"


@invariant
def i6_only_the_owner_cancels(world: World) -> Iterator[Story]:
    """A job is CANCELLED only at its owner's request, or with the batch that it is a line of."""
    asked = {exchange.job for exchange in world.history.exchanges if exchange.action == "cancel"}
    batches = world.batch_callers.followed
    ended_early = [batch for batch in batches if batch.last.get("status") in ("cancelled", "expired")]
    lines = {prompt for batch in ended_early for prompt in batch.prompts.values()}
    for job in world.history.rows:
        end = world.history.end_of(job)
        if end and end.state == "CANCELLED" and job not in asked and prompt_of_job(world, job) not in lines:
            yield job, f"{when(end.at)} cancelled without a request of its owner"


@invariant
def i7_a_key_makes_one_job(world: World) -> Iterator[Story]:
    """Caller, key and body name one job; the same key with another body is a conflict."""
    made: dict[str, list[str]] = defaultdict(list)
    for job in world.history.rows:
        made[prompt_of_job(world, job)].append(job)
    for prompt in world.callers.prompts_with_key:
        if len(made[prompt]) > 1:
            yield made[prompt][1], f"<{prompt}> was submitted with a key and became {len(made[prompt])} jobs"
        if made[f"other {prompt}"] and made[prompt]:
            yield made[prompt][0], "its key was also accepted with another body"
    for exchange in world.history.exchanges:
        if exchange.key and exchange.shown and prompt_of_job(world, exchange.shown["id"]) != exchange.prompt:
            yield exchange.shown["id"], f"{when(exchange.ended_at)} given to a caller for <{exchange.prompt}>"


@invariant
def callers_are_answered_in_time(world: World) -> Iterator[Story]:
    """A function that answers callers never runs into its timeout, however slow or throttled AWS is."""
    for (function, outcome), times in world.deployment.functions.outcomes.items():
        if outcome == "timed out" and function in ROUTES.values():
            yield "", f"{function} timed out {times} times"


def _owners(world: World) -> dict[str, str]:
    """Return the `owner` attribute of each principal, by the jobs in its responses."""
    return {
        exchange.principal: world.history.final_row(exchange.shown["id"]).text("owner")
        for exchange in world.history.exchanges
        if exchange.action != "intrude" and exchange.shown.get("id") in world.history.rows
    }
