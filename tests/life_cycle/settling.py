"""What two undisturbed sweeps make of a job that nothing is under way for."""

from life_cycle.functions import Functions
from life_cycle.rows import CLAIMS, OVERDUE
from life_cycle.world import OUTPUT, OVER, RUNNING, Broken, World


def check_rest(world: World, functions: Functions) -> str | None:
    """The promise that is broken if nothing but the sweeper does anything from here on."""
    if world.processes or world.row is None:
        return None
    try:
        if world.clock == OVERDUE and not swept(swept(world, functions), functions).settled:
            return "I1: two sweeps after its deadline the job has not ended, or it is not told, or its slot is not free"
        if world.clock == CLAIMS and world.row.is_open:
            return check_luck(world, functions)
    except Broken as broken:
        return str(broken)
    return None


def check_luck(world: World, functions: Functions) -> str | None:
    """The promise that is broken if from here on everything goes well, and the job does not end as it could."""
    row = world.job
    bringing = any(world.fate(attempt) in (RUNNING, OUTPUT) for attempt in row.running_attempts())
    unknown = any(world.fate(attempt) == OVER for attempt in row.running_attempts())
    end = lucky(world, functions)
    if row.refused and not bringing and not unknown and end.row and end.row.state != "FAILED":
        return "a refused job waits for its deadline"
    if (
        not row.refused
        and "4" not in world.attempts
        and (bringing or row.attempts < functions.max_attempts)
        and end.row
        and end.row.state != "SUCCEEDED"
    ):
        return "a job with attempts left does not succeed"
    return None


def lucky(world: World, functions: Functions) -> World:
    """After whatever can happen before the deadline, if all that happens is good."""
    for _ in range(60):
        if world.row is None or not world.row.is_open:
            return world
        if world.processes:
            process = world.processes[0]
            _, do = next(functions.calls(world.minus(process), process))
            world = functions.essence(do())
            continue
        after = dict(functions.steps(world, slot_is_free=False))
        for begin in ("record", "the model answers", "a worker", "the lease", "sweeper"):
            better = [
                outcome
                for name, outcome in after.items()
                if isinstance(outcome, World) and name.startswith(begin) and outcome != world
            ]
            if better:
                world = better[0]
                break
        else:
            return world
    return world


def swept(world: World, functions: Functions) -> World:
    """After one sweep without a fault."""
    for name, outcome in functions.steps(world, slot_is_free=False):
        if name == "sweeper: take the clock, read the row":
            assert isinstance(outcome, World)
            world = outcome
    while world.processes:
        process = world.processes[0]
        _, do = next(functions.calls(world.minus(process), process))
        world = functions.essence(do())
    return world
