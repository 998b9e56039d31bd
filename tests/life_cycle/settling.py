"""What two undisturbed sweeps, or some luck, make of a job that nothing is under way for."""

from life_cycle.functions import Functions
from life_cycle.rows import OVERDUE
from life_cycle.world import World


def check_rest(world: World, functions: Functions) -> str | None:
    """The promise that is broken if nothing but the sweeper does anything from here on."""
    if world.processes or world.row is None:
        return None
    if world.clock == OVERDUE and not swept(swept(world, functions), functions).is_settled:
        return "I1: two sweeps after its deadline the job has not ended, or not everything is told"
    return None


def swept(world: World, functions: Functions) -> World:
    """After one sweep without a fault."""
    read = [step.outcome for step in functions.steps(world, slot_is_free=False) if step.name == "sweeper: read the row"]
    for outcome in read:
        assert isinstance(outcome, World)
        world = outcome
    while world.processes:
        first = next(iter(functions.calls(world.minus(world.processes[0]), world.processes[0], False)))
        world = functions.without_trifles(first[1]())
    return world
