"""I9 and I10: nothing is invoked without a claim, and messages about strangers create nothing."""

from collections import Counter
from collections.abc import Iterator

from simulation.invariants.invariant import Story, invariant, row_at, when
from simulation.world import World


@invariant
def i9_every_claim_precedes_its_invocation(world: World) -> Iterator[Story]:
    """When the model begins, the row has claimed just that attempt; no claim is used twice; three attempts at most."""
    used: Counter[tuple[str, int]] = Counter()
    asked = [(request.received_at, request.job, request.attempt) for request in world.deployment.requests]
    if world.trial.mode == "realtime":
        asked = [(run.started_at, run.job, run.attempt) for run in world.deployment.model.runs]
    for at, job, attempt in asked:
        used[job, attempt] += 1
        row = row_at(world, job, at)
        if row is None or not row.item or row.number("attempts") < attempt or attempt < 1:
            yield job, f"{when(at)} attempt {attempt} was invoked without a claim"
        if attempt > 3:
            yield job, f"{when(at)} attempt {attempt}"
    for (job, attempt), times in used.items():
        if times > 1:
            yield job, f"attempt {attempt} was invoked {times} times"


@invariant
def i10_unknown_ids_create_nothing(world: World) -> Iterator[Story]:
    """Messages about no job of ours leave no item, end in no dead-letter queue, and are counted."""
    for job in world.strange_ids:
        others = [write.pk for write in world.history.writes_of_others if job in write.pk]
        if job in world.history.rows or others or any(name.startswith(job) for name in world.history.copies):
            yield job, "was created by a message"
    if world.log.metrics["UnknownJobMessages"] < world.strange_messages_delivered:
        counted = world.log.metrics["UnknownJobMessages"]
        yield "", f"{world.strange_messages_delivered} strange messages, {counted} counted"
