"""What two undisturbed sweeps make of a job that nothing is under way for."""

from life_cycle.functions import Functions
from life_cycle.rows import OVERDUE
from life_cycle.world import World


def check_rest(world: World, functions: Functions) -> str | None:
    """The promise that is broken if nothing but the sweeper does anything from here on."""
    if world.processes or world.row is None or world.clock != OVERDUE:
        return None
    if swept(swept(world, functions), functions).settled:
        return None
    return "I1: two sweeps after its deadline the job has not ended, or not everything is told"


def swept(world: World, functions: Functions) -> World:
    """After one sweep without a fault."""
    for name, outcome in functions.steps(world, slot_is_free=False):
        if name == "sweeper: read the row":
            assert isinstance(outcome, World)
            world = outcome
    while world.processes:
        process = world.processes[0]
        _, do = next(functions.calls(world.minus(process), process))
        world = functions.essence(do())
    return world
