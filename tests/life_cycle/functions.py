"""What happens in both modes: submission, cancellation, announcements, the sweeper, time.

A step is one call that others can notice. Reading a row and writing it under the condition that it has not changed
is one step, at the moment of the write: whoever loses the race decides again, as JobTable.change() does. Calls that
only their own function can notice (storing the input, the item with the answer) belong to the step that follows.
Nothing has to happen: each function may die before each of its calls, each message may be lost, or come again.
"""

from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

from inference_api import job_life
from life_cycle import promises
from life_cycle import world as fates
from life_cycle.rows import CLAIMS, LAST_MOMENTS, OVERDUE, SOON, TOO_LATE, Row, Rows
from life_cycle.world import Broken, Process, Seen, World

Possible = tuple[str, Callable[[], World]]
Step = tuple[str, World | str]


class Functions:
    """The steps that are possible in a world. `changes`: what a mutant does in another way."""

    claims_at_acceptance: bool

    def __init__(
        self,
        life: ModuleType = job_life,
        changes: frozenset[str] = frozenset(),
        *,
        sweepers: int = 1,
        looks_apart: bool = False,
    ) -> None:
        self.rows = Rows(life, claims_at_acceptance=self.claims_at_acceptance)
        self.max_attempts: int = life.MAX_ATTEMPTS
        self.changes, self._sweepers, self._looks_apart = changes, sweepers, looks_apart

    def steps(self, world: World, *, slot_is_free: bool) -> Iterator[Step]:
        """Each possible step, and the world after it, or the promise that it breaks."""
        for name, do in self._possible(world, slot_is_free):
            try:
                outcome: World | str = self.essence(do())
            except Broken as broken:
                outcome = str(broken)
            yield name, outcome

    def _possible(self, world: World, slot_is_free: bool) -> Iterator[Possible]:
        if world.row is None:
            # However often, and with whatever other calls of the same key at the same time: one of them is the first.
            if slot_is_free and not world.told:
                yield "submit: accept", lambda: self._accept(world)
            return
        yield "the owner cancels", lambda: self.ending(world, "cancel")
        for process in dict.fromkeys(world.processes):
            rest = world.minus(process)
            yield from self.calls(rest, process)
            yield f"death before: {process}", lambda rest=rest, process=process: self.died(rest, process)
        yield from self.around(world)
        if sum(process.sweeps for process in world.processes) < self._sweepers and "no sweeper" not in self.changes:
            if self.rows.after(world.row, world.clock, "look_again"):
                yield "sweeper: read the row", lambda: self._look(world)
        yield from self._time(world)

    def calls(self, world: World, process: Process) -> Iterator[Possible]:
        """The outcomes of a function's next call; `world` is without the function."""
        match process.call:
            case "announce":
                yield f"{process}", lambda: self.change(self._tell(world), "note_announced")
                yield f"{process}, death before that is noted", lambda: self._tell(world)
            case "look for output":
                yield f"{process}", lambda: self._look_for_output(world, process)
            case "succeed" if process.sweeps:
                yield f"{process}", lambda: self._swept(world, process, "succeed")
            case "fail" if process.sweeps:
                how = "refuse" if world.fate(process.attempt) == fates.REFUSED else "fail"
                yield f"{process}", lambda: self._swept(world, process, how)
            case "expire":
                yield f"{process}", lambda: self._expire(world)

    def around(self, world: World) -> Iterator[Possible]:
        """What messages and the model do."""
        raise NotImplementedError

    def dispatched(self, world: World) -> World:
        """The accepted job is handed on."""
        raise NotImplementedError

    def tend(self, world: World, seen: Seen) -> World:
        """The sweeper looks after an open job."""
        raise NotImplementedError

    def without_output(self, world: World, process: Process, seen: Seen) -> World:
        """The sweeper has found no output of an attempt."""
        raise NotImplementedError

    def died(self, world: World, process: Process) -> World:
        return world._replace(queued=True) if process.holds_message else world

    def change(self, world: World, transition: str, *args: Any) -> World:
        """The row as a shipped transition leaves it, or the same world."""
        new = self.rows.after(world.job, world.clock, transition, *args)
        if new is None or new is world.row:
            return world
        promises.check_write(world, new)
        attempts = world.attempts
        if new.attempts < len(attempts):
            if attempts[-1] != fates.UNUSED:
                raise Broken("I9: an attempt that ran is given back")
            attempts = attempts[:-1]
        return world._replace(row=new, attempts=attempts.ljust(new.attempts, fates.UNUSED))

    def ending(self, world: World, transition: str, *args: Any, sweeps: bool = False) -> World:
        """A change which, if it ends the job, is followed by the announcement."""
        after = self.change(world, transition, *args)
        if world.job.is_open and not after.job.is_open:
            return after.plus(Process("announce", sweeps=sweeps))
        return after

    def _accept(self, world: World) -> World:
        row = self.rows.accepted()
        promises.check_row(row)
        return self.dispatched(world._replace(row=row, attempts=fates.UNUSED * row.attempts))

    def _tell(self, world: World) -> World:
        if world.job.is_open:
            raise Broken("the end is announced before it")
        return world._replace(told=True)

    def _look(self, world: World) -> World:
        attempts = tuple(world.job.running_attempts()) if world.tended else ()
        return self.go_on(world, Seen.of(world.job), attempts)

    def go_on(self, world: World, seen: Seen, attempts: tuple[int, ...]) -> World:
        """The sweeper has still to look for the outputs of `attempts`."""
        if seen.marked not in attempts:
            seen = seen._replace(marked=0)
        if attempts and (seen.is_open or seen.holds_slot):
            looking = Process("look for output", attempts[0], attempts[1:], seen, sweeps=True)
            return world.plus(looking) if self._looks_apart else self._look_for_output(world, looking)
        if world.clock == OVERDUE and (seen.is_open or seen.holds_slot):
            return world.plus(Process("expire", sweeps=True))
        if world.clock != OVERDUE and seen.is_open:
            return self.tend(world, seen)
        return world if seen.announced else world.plus(Process("announce", sweeps=True))

    def _look_for_output(self, world: World, process: Process) -> World:
        assert isinstance(process.seen, Seen)
        if world.fate(process.attempt) == fates.OUTPUT and "sweeper does not look for outputs" not in self.changes:
            return world.plus(process._replace(call="succeed", seen=()))
        return self.without_output(world, process, process.seen)

    def _swept(self, world: World, process: Process, transition: str) -> World:
        """The sweeper changes the row; if that ends the job, announcing it is all that is left to do."""
        after = self.ending(world, transition, process.attempt, sweeps=True)
        if world.job.is_open and not after.job.is_open:
            return after
        return self.go_on(after, Seen.of(after.job), process.rest)

    def _expire(self, world: World) -> World:
        after = self.ending(world, "expire", sweeps=True)
        if not world.job.is_open and not world.job.announced:
            return after.plus(Process("announce", sweeps=True))
        return after

    def _time(self, world: World) -> Iterator[Possible]:
        row = world.job
        if row.expires_at is not None and (row.expires_at == SOON or world.settled):
            if row.announced and not world.processes:
                yield "the row is deleted", lambda: self._delete(world)
        # A lease is longer than any function that holds a claim can live.
        if row.lease_until and not any(process.call in promises.HOLDS_CLAIM for process in world.processes):
            yield "the lease runs out", lambda: world._replace(row=self.rows.without_lease(row))
        if world.clock == CLAIMS:
            yield "too late for another attempt", lambda: world._replace(clock=TOO_LATE)
        elif world.clock == TOO_LATE and not world.processes:
            over = world.attempts.replace(fates.RUNNING, fates.OVER)
            yield "all attempts are over", lambda: world._replace(clock=LAST_MOMENTS, attempts=over)
        elif world.clock == LAST_MOMENTS:
            yield "the deadline passes", lambda: world._replace(clock=OVERDUE)

    def _delete(self, world: World) -> World:
        if world.tended:
            raise Broken("I5: the row is deleted while it is needed")
        return World(told=True)

    def essence(self, world: World) -> World:
        """Worlds that differ in nothing that matters from here on become one."""
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
                if not any(each.call in promises.HOLDS_CLAIM for each in processes):
                    if all(self.is_idle(row, attempt) for attempt in range(1, len(attempts) + 1)):
                        attempts = ""
        return world._replace(attempts=attempts, clock=clock, processes=processes)

    def _matters(self, world: World, attempt: int, fate: str) -> str:
        row = world.job
        if fate == fates.OVER or row.is_open and fate in (fates.OUTPUT, fates.RUNNING):
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
