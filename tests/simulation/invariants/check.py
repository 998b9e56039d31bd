"""All invariants."""

from simulation.invariants import callers, ends, limits, messages, outputs, traces
from simulation.invariants.changes import OF_CHANGES
from simulation.invariants.invariant import INVARIANTS, Breach
from simulation.invariants.trace import breaches_of_changes
from simulation.world import World

MODULES = (callers, ends, limits, messages, outputs, traces)
NAMES = {*INVARIANTS, *OF_CHANGES}


def breaches(world: World) -> list[Breach]:
    """The breaches of all invariants in one trial."""
    found = [Breach(name, job, story) for name, check in INVARIANTS.items() for job, story in check(world)]
    return [*found, *breaches_of_changes(world)]
