"""How a change of the row changes the world, each promise about it checked."""

from typing import Any

from life_cycle import promises
from life_cycle import world as fates
from life_cycle.essence import Essence
from life_cycle.rows import Rows
from life_cycle.slots import moved
from life_cycle.world import Broken, Process, World


class Writes(Essence):
    """The row is written under the condition that it is the one that was read."""

    def __init__(self, rows: Rows, changes: frozenset[str]) -> None:
        super().__init__(rows)
        self.changes = changes

    def change(self, world: World, transition: str, *args: Any) -> World:
        """The row as a shipped transition leaves it, or the same world."""
        new = self.rows.after(world.job, world.clock, transition, *args)
        if new is None or new is world.row:
            return world
        promises.check_write(world, new)
        promises.check_row(new)
        attempts = world.attempts
        if new.attempts < len(attempts):
            if attempts[-1] != fates.UNUSED:
                raise Broken("I9: an attempt that ran is given back")
            attempts = attempts[:-1]
        taken, processes = world.taken + moved(world.job, new), world.processes
        if "the slot is freed apart" in self.changes and taken < world.taken:
            taken, processes = world.taken, (*processes, Process("free the slot"))
        if new.attempts > world.job.attempts:
            # The lease begins after every look that is under way.
            processes = tuple(each.before_the_lease for each in processes)
        attempts = attempts.ljust(new.attempts, fates.UNUSED)
        return world._replace(row=new, attempts=attempts, processes=tuple(sorted(processes)), taken=taken)

    def ending(self, world: World, transition: str, *args: Any, sweeps: bool = False) -> World:
        """A change which, if it ends the job, is followed by the announcement."""
        after = self.change(world, transition, *args)
        if world.job.is_open and not after.job.is_open:
            return after.plus(Process("announce", sweeps=sweeps))
        return after
