"""Which worlds are the same: those that differ in nothing that matters from here on."""

from life_cycle import promises
from life_cycle import world as fates
from life_cycle.rows import CLAIMS, OVERDUE, TOO_LATE, Row, Rows
from life_cycle.world import Process, World


class Essence:
    """Asks the transitions what can still change a row."""

    def __init__(self, rows: Rows) -> None:
        self.rows = rows

    def essence(self, world: World) -> World:
        """One world for all that are the same."""
        row = world.row
        if row is None:
            return world
        attempts = "".join([self._matters(world, number, fate) for number, fate in enumerate(world.attempts, 1)])
        clock, processes = world.clock, world.processes
        if not row.is_open:
            clock = max(clock, TOO_LATE)
            if not row.holds_slot:
                clock = OVERDUE
                processes = tuple(each for each in processes if not self.is_vain(world, each))
                idle = all(self.is_idle(row, attempt) for attempt in range(1, len(attempts) + 1))
                if idle and not any(promises.holds_claim(each) for each in processes):
                    attempts = ""
        return world._replace(attempts=attempts, clock=clock, processes=processes)

    def _matters(self, world: World, attempt: int, fate: str) -> str:
        row = world.job
        if fate == fates.OVER or (row.is_open and fate in (fates.OUTPUT, fates.RUNNING)):
            return fate
        if any(each.attempt == attempt or attempt in each.rest for each in world.processes):
            return fate
        if fate == fates.UNUSED or attempt in row.ended:
            return fates.OVER
        return fates.FAILED if fate == fates.REFUSED and not row.is_open else fate

    def is_vain(self, world: World, process: Process) -> bool:
        """Whether the function can change nothing any more of a job that has ended."""
        row = world.job
        if process.sweeps:
            return process.call != "announce"
        if process.call == "mark":
            return self.rows.after(row, world.clock, "note_invoked", process.attempt, "x") is None
        if process.call == "give back":
            return self.rows.after(row, world.clock, "give_back", process.attempt) is None
        if process.call == "invoke":
            return self.is_idle(row, process.attempt)
        return False

    def is_idle(self, row: Row, attempt: int) -> bool:
        """Whether nothing that is heard of the attempt changes anything."""
        heard = (self.rows.after(row, CLAIMS, transition, attempt) for transition in ("succeed", "fail"))
        return all(after is None for after in heard)
