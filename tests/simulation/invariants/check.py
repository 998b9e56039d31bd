"""Every invariant, tried on one trial."""

from simulation.invariants import attempts, callers, ends, limits, outputs, traces
from simulation.invariants.invariant import INVARIANTS, Breach
from simulation.world import World

MODULES = (attempts, callers, ends, limits, outputs, traces)


def breaches(world: World) -> list[Breach]:
    """All of them."""
    return [Breach(name, job, story) for name, check in INVARIANTS.items() for job, story in check(world)]
