"""Changes to the shipped transitions and to the order of steps, each of which the exploration must notice or excuse."""

from typing import NamedTuple

from life_cycle.async_mode import AsyncMode
from life_cycle.exploration import Exploration, Found
from life_cycle.functions import Functions
from life_cycle.mutated_life import life_with
from life_cycle.queue_mode import QueueMode

TWO_ATTEMPTS = ("MAX_ATTEMPTS = 3", "MAX_ATTEMPTS = 2")
ASYNC, QUEUE = "async", "queue"
MODES: dict[str, type[Functions]] = {ASYNC: AsyncMode, QUEUE: QueueMode}
UNTOLD = "I1: two sweeps after its deadline"
STUCK, REFUSED = "a job with attempts left does not succeed", "a refused job waits for its deadline"


class Mutant(NamedTuple):
    """One change in one mode. `told`: how the broken promise begins, or which defence makes up for the change."""

    mode: str
    name: str
    told: str
    life: tuple[tuple[str, str], ...] = ()

    def explore(self, *more: tuple[str, str]) -> Found:
        """The name may be that of a changed order of steps."""
        return Exploration(MODES[self.mode](life_with(*self.life, *more), frozenset([self.name]))).run()

    def __str__(self) -> str:
        return f"{self.mode}: {self.name}"


def changed(mode: str, name: str, told: str, old: str, new: str) -> Mutant:
    """A mutant of the transitions."""
    return Mutant(mode, name, told, ((old, new),))


DYING_ORDERS = [
    *(Mutant(mode, "invoke before the claim", "I9: attempt") for mode in MODES),
    *(Mutant(mode, "202 before the row", "I1: accepted, but there is no row") for mode in MODES),
    *(Mutant(mode, "no sweeper", STUCK) for mode in MODES),
    *(Mutant(mode, "announced is noted first", UNTOLD) for mode in MODES),
    *(Mutant(mode, "the slot is freed apart", "I8: a slot is counted that no job holds") for mode in MODES),
    Mutant(ASYNC, "no look for outputs", "I4: EXPIRED although an output exists"),
    Mutant(QUEUE, "no look for outputs", "I4: FAILED although an output exists"),
    Mutant(QUEUE, "the clock is read after the look", "I4: FAILED although an output exists"),
    Mutant(ASYNC, "marked before it is invoked", STUCK),
    Mutant(ASYNC, "a lost answer is a refusal", "I9: an attempt that ran is given back"),
    Mutant(QUEUE, "success before the output is stored", "I3: SUCCEEDED without an output"),
    Mutant(QUEUE, "workers take what is running", STUCK),
]

COVERED_ORDERS = [
    Mutant(QUEUE, "sent is noted first", "the sweeper counts the queue's messages"),
    Mutant(QUEUE, "sweeper does not look at the lease", "lose_attempt() judges it on the row that is changed"),
    Mutant(QUEUE, "the message is deleted first", "the sweeper sends again what a dead worker held"),
    Mutant(ASYNC, "sweeper leaves cancelled jobs", "the deadline frees the slot"),
]
