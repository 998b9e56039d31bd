"""What must hold of every world, and of every step from one to the next."""

from inference_api.jobs.job import CANCELLED, EXPIRED, FAILED, SUCCEEDED
from life_cycle import world as fates
from life_cycle.rows import CLAIMS, Row
from life_cycle.world import Broken, Process, World

# A function that holds a claim makes one of these calls next.
BEFORE_THE_MODEL = ("invoke", "ask the model")
BRINGS_OUTPUT = (*BEFORE_THE_MODEL, "store output", "succeed")
HOLDS_CLAIM = (*BRINGS_OUTPUT, "mark", "give back", "fail", "refuse")


def holds_claim(process: Process) -> bool:
    """A lease is longer than such a function can live."""
    return process.call in HOLDS_CLAIM and not process.sweeps


def can_come(world: World, attempt: int) -> bool:
    """Whether the attempt may still bring an output."""
    if world.fate(attempt) == fates.RUNNING:
        return True
    return any(process.call in BRINGS_OUTPUT and process.attempt == attempt for process in world.processes)


def check_write(world: World, new: Row) -> None:
    """The row of `world` is about to become `new`."""
    old = world.row
    assert old is not None
    if not old.is_open:
        lasting = ("state", "output", "error_code", "ended_at", "expires_at")
        if any(getattr(old, name) != getattr(new, name) for name in lasting):
            raise Broken(f"I2: {old.state} was not final, it became {new.state}")
    elif new.attempts > old.attempts:
        if world.clock != CLAIMS:
            raise Broken("I4: an attempt is claimed that may not be over before the deadline")
        if old.marked == old.attempts and world.fate(old.attempts) == fates.RUNNING:
            raise Broken("I9: another attempt is claimed while a confirmed one runs")
    elif new.state == SUCCEEDED and not (new.output and world.fate(new.output.attempt) == fates.OUTPUT):
        raise Broken("I3: SUCCEEDED without an output")
    elif new.state in (FAILED, EXPIRED):
        if fates.OUTPUT in world.attempts:
            raise Broken(f"I4: {new.state} although an output exists")
        if any(can_come(world, attempt) for attempt in range(1, len(world.attempts) + 1)):
            raise Broken(f"I4: {new.state} although an output can still come")
        if new.state == EXPIRED and old.error_code:
            raise Broken("an error that is known is not told")
    if old.holds_slot and not new.holds_slot and new.state == CANCELLED:
        busy = fates.RUNNING in world.attempts or any(each.call in BEFORE_THE_MODEL for each in world.processes)
        if busy:
            raise Broken("I8: the slot of a cancelled job is free while the model works on it")


def check_row(row: Row) -> None:
    """What must hold of every row, whatever surrounds it."""
    if row.is_open:
        _demand(row.due_at is not None, "I1: an open job that the sweeper will never look at")
        _demand(row.expires_at is None, "I5: an open job that will be deleted")
        _demand(row.holds_slot, "I8: an open job without a slot")
        _demand(not row.announced and row.ended_at is None, "an open job that has ended")
    else:
        _demand(row.expires_at is not None, "an ended job that is never deleted")
        _demand(not row.holds_slot or row.state == CANCELLED, "I8: an ended job keeps its slot")
        _demand(not row.holds_slot or row.may_be_running, "I8: a slot is kept for no attempt")
        at_rest = row.announced and not row.holds_slot
        _demand(
            (row.due_at is None) == at_rest, "an ended job is looked at exactly as long as there is something to do"
        )
    _demand((row.state == SUCCEEDED) == (row.output is not None), "I3: an output, or SUCCEEDED, without the other")
    _demand((row.state == FAILED) <= (row.error_code is not None), "FAILED without an error")
    _demand(row.ended <= set(range(1, row.attempts + 1)), "an attempt ended that was not claimed")
    _demand(row.attempts <= 3, "more than three attempts")


def check_slot(world: World) -> None:
    """The owner's counter counts the job as long as it holds its slot; nothing is left to correct it."""
    _demand(world.taken >= world.holds_slot, "I8: a job holds a slot that is not counted")
    _demand(world.taken <= world.holds_slot or bool(world.processes), "I8: a slot is counted that no job holds")
    _demand(not world.answered or bool(world.row or world.told or world.processes), "I1: accepted, but there is no row")


def check_invocation(world: World, attempt: int) -> None:
    """The attempt is about to be handed to the model."""
    if world.fate(attempt) != fates.UNUSED:
        raise Broken(f"I9: attempt {attempt} runs {'twice' if world.fate(attempt) else 'without a claim'}")


def check_calls(processes: tuple[Process, ...]) -> None:
    """Two workers never ask the model for the same job at once."""
    if sum(each.call == "ask the model" for each in processes) > 1:
        raise Broken("I9: two calls for one job at once")


def _demand(holds: bool, promise: str) -> None:
    if not holds:
        raise Broken(promise)
