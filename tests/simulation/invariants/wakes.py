"""W1: a model that sleeps is asked for a copy once a minute, and within the day's budget."""

from collections import Counter
from collections.abc import Iterator
from itertools import pairwise

from inference_api.wake.row import ASK_EVERY_IN_SECONDS, day_of
from simulation.invariants.invariant import Story, invariant, when
from simulation.world.world import World

_LATENCY_IN_SECONDS = 5  # the row is written before SageMaker is asked


@invariant
def w1_a_copy_is_asked_for_once_a_minute(world: World) -> Iterator[Story]:
    """Whoever meets the model asleep, and however many, SageMaker is asked once a minute."""
    for before, after in pairwise(_asks(world)):
        if after - before < ASK_EVERY_IN_SECONDS - _LATENCY_IN_SECONDS - world.trial.clock_skew:
            yield "", f"{when(after)} a copy is asked for {after - before:.1f} s after the last ask"


@invariant
def w1_no_day_has_more_wakes_than_its_budget(world: World) -> Iterator[Story]:
    """Asks count on their day in UTC."""
    for day, asks in Counter(map(day_of, _asks(world))).items():
        if asks > world.trial.wakes_per_day:
            yield "", f"{day} a copy is asked for {asks} times, {world.trial.wakes_per_day} are allowed"


def _asks(world: World) -> list[float]:
    return world.deployment.component.asks if world.deployment.component else []
