"""I10: messages about unknown jobs create nothing."""

from collections.abc import Iterator

from simulation.invariants.invariant import Story, invariant
from simulation.world.world import World


@invariant
def i10_unknown_ids_create_nothing(world: World) -> Iterator[Story]:
    """Messages about unknown jobs write no item and are counted."""
    for job in world.unknown_ids:
        others = [write.pk for write in world.history.writes_of_others if job in write.pk]
        if job in world.history.rows or others or any(job in pk for pk in world.history.texts):
            yield job, "was created by a message"
    if world.log.metrics["UnknownJobMessages"] < world.unknown_messages_delivered:
        counted = world.log.metrics["UnknownJobMessages"]
        yield "", f"{world.unknown_messages_delivered} unknown messages, {counted} counted"
