"""What happens in both modes: submission, cancellation, announcements, the sweeper, time.

A step is one call that others can notice. Reading a row and writing it under the condition that it has not changed
is one step, at the moment of the write: whoever loses the race decides again, as JobTable.change() does. Calls that
only their own function can notice (storing the input, the item with the answer) belong to the step that follows.
Nothing has to happen: each function may die before each of its calls, each message may be lost, or come again.
"""

from collections.abc import Callable, Iterator
from functools import partial
from types import ModuleType
from typing import Any

from inference_api.jobs import transitions
from life_cycle import promises
from life_cycle import world as fates
from life_cycle.rows import CLAIMS, LAST_MOMENTS, OVERDUE, SOON, TOO_LATE, Rows
from life_cycle.slots import moved
from life_cycle.world import Broken, Process, Seen, World
from life_cycle.writes import Writes

Possible = tuple[str, Callable[[], World]]
Step = tuple[str, World | str]


class Functions(Writes):
    """The steps that are possible in a world.

    changes: what a mutant does in another way. sweepers: at once. looks_apart: a sweeper's look into the bucket is a
    step of its own; else it is one with the read before it, which finds no more than a later look.
    """

    claims_at_acceptance: bool

    def __init__(
        self,
        life: ModuleType = transitions,
        changes: frozenset[str] = frozenset(),
        *,
        sweepers: int = 1,
        looks_apart: bool = False,
    ) -> None:
        super().__init__(Rows(life, claims_at_acceptance=self.claims_at_acceptance), changes)
        self.max_attempts: int = life.MAX_ATTEMPTS
        self._sweepers, self._looks_apart = sweepers, looks_apart

    def steps(self, world: World, *, slot_is_free: bool) -> Iterator[Step]:
        """Each possible step, and the world after it, or the promise that it breaks."""
        for name, do in self._possible(world, slot_is_free):
            try:
                outcome = self.essence(do())
                promises.check_slot(outcome)
            except Broken as broken:
                yield name, str(broken)
            else:
                yield name, outcome

    def _possible(self, world: World, slot_is_free: bool) -> Iterator[Possible]:
        if world.row is None:
            # However often, and with whatever other calls of the same key at the same time: one of them is the first.
            for process in world.processes:
                yield from self.calls(world.minus(process), process)
                yield f"death before: {process}", partial(self.died, world.minus(process), process)
            if (slot_is_free or "the limit is not in the transaction" in self.changes) and not world.answered:
                yield "submit: accept", lambda: self._submit(world)
            return
        yield "the owner cancels", lambda: self.ending(world, "cancel")
        for process in dict.fromkeys(world.processes):
            rest = world.minus(process)
            yield from self.calls(rest, process)
            yield f"death before: {process}", partial(self.died, rest, process)
        yield from self.around(world)
        sweepers = 0 if "no sweeper" in self.changes else self._sweepers
        is_due = self.rows.after(world.row, world.clock, "look_again") is not None
        if is_due and sum(process.sweeps for process in world.processes) < sweepers:
            # The clock is taken before: whatever happens in between makes the lease only look younger.
            yield "sweeper: take the clock, read the row", lambda: self._look(world)
        yield from self._time(world)

    def calls(self, world: World, process: Process) -> Iterator[Possible]:
        """The outcomes of a function's next call; `world` is without the function."""
        match process.call:
            case "announce":
                if "announced is noted first" in self.changes:
                    noted = self.change(world, "note_announced")
                    yield f"{process}, death before the event is out", lambda: noted
                    yield f"{process}", lambda: self._tell(noted)
                else:
                    yield f"{process}", lambda: self.change(self._tell(world), "note_announced")
                    yield f"{process}, death before that is noted", lambda: self._tell(world)
            case "free the slot":
                yield f"{process}", lambda: world._replace(taken=world.taken - 1)
            case "accept":
                yield f"{process}", lambda: self._accept(world)
            case "look for output":
                yield f"{process}", lambda: self._look_for_output(world, process)
            case "succeed" if process.sweeps:
                yield f"{process}", lambda: self._swept(world, process, "succeed")
            case "fail" if process.sweeps:
                how = "refuse" if world.fate(process.attempt) == fates.REFUSED else "fail"
                yield f"{process}", lambda: self._swept(world, process, how)
            case "lose":
                yield f"{process}", lambda: self._swept(world, process, "lose", process.lease_was_over)
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

    def _submit(self, world: World) -> World:
        if "202 before the row" in self.changes:
            return world._replace(answered=True).plus(Process("accept"))
        return self._accept(world)

    def _accept(self, world: World) -> World:
        row = self.rows.accepted()
        promises.check_row(row)
        return self.dispatched(World(row, fates.UNUSED * row.attempts, taken=moved(None, row), answered=True))

    def _tell(self, world: World) -> World:
        if world.job.is_open:
            raise Broken("the end is announced before it")
        return world._replace(told=True)

    def _look(self, world: World) -> World:
        tended = world.job.is_open if "sweeper leaves cancelled jobs" in self.changes else world.tended
        attempts = tuple(world.job.running_attempts()) if tended else ()
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
        if world.fate(process.attempt) == fates.OUTPUT and "no look for outputs" not in self.changes:
            return world.plus(process._replace(call="succeed", seen=()))
        return self.without_output(world, process, process.seen)

    def _swept(self, world: World, process: Process, transition: str, *args: Any) -> World:
        """The sweeper changes the row; if that ends the job, announcing it is all that is left to do."""
        after = self.ending(world, transition, process.attempt, *args, sweeps=True)
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
        if row.announced and not world.processes and (row.expires_at == SOON or world.settled):
            yield "the row is deleted", lambda: self._delete(world)
        # A lease is longer than any function that holds a claim can live.
        if row.lease_until and not any(promises.holds_claim(process) for process in world.processes):
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
        return World(told=True, taken=world.taken, answered=True)
