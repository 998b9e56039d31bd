"""What happens in both modes: clients, announcements, the sweeper, time.

A step is one call that others can notice. Reading a row and writing it under the condition that it has not changed
is one step, at the moment of the write: whoever loses the race decides again, as JobTable.change() does. Calls that
only their own function can notice (storing the input, the item with the answer) belong to the step that follows.
"""

from collections.abc import Callable, Iterator
from enum import Enum
from types import ModuleType
from typing import Any, NamedTuple

from inference_api import job_life
from life_cycle import promises
from life_cycle import world as fates
from life_cycle.rows import CLAIMS, DELETED, LAST_MOMENTS, OVERDUE, SOON, TOO_LATE, Row, Rows
from life_cycle.world import Broken, Process, Seen, World, tended


class Fault(Enum):
    """What there is only so much of."""

    CRASH = "crashes"
    DUPLICATE = "duplicates"
    LOSS = "losses"
    RETRY = "retries"


class Step(NamedTuple):
    """`outcome`: the next world, or the promise that is broken."""

    name: str
    fault: Fault | None
    outcome: World | str


Possible = tuple[str, Fault | None, Callable[[], World]]


class Functions:
    """The steps that are possible in a world. `changes`: names of what a mutant does in another order."""

    claims_at_acceptance: bool

    def __init__(self, life: ModuleType = job_life, changes: frozenset[str] = frozenset(), sweepers: int = 1, looks_apart: bool = False) -> None:
        self.rows = Rows(life, claims_at_acceptance=self.claims_at_acceptance)
        self.changes, self.sweepers, self.looks_apart = changes, sweepers, looks_apart

    def steps(self, world: World, *, slot_is_free: bool) -> Iterator[Step]:
        for name, fault, do in self._possible(world, slot_is_free):
            try:
                outcome: World | str = self.without_trifles(do())
            except Broken as broken:
                outcome = str(broken)
            yield Step(name, fault, outcome)

    def _possible(self, world: World, slot_is_free: bool) -> Iterator[Possible]:
        if world.clock == DELETED:
            return
        if world.row is None:
            yield "the client sends again", Fault.RETRY, lambda: world.plus(Process("accept"))
        elif world.row.is_open:
            yield "the owner cancels", None, lambda: self.ending(world, "cancel")
        for process in sorted(set(world.processes)):
            rest = world.minus(process)
            for name, do in self.calls(rest, process, slot_is_free):
                yield name, None, do
            yield f"death before: {process}", Fault.CRASH, lambda rest=rest, process=process: self.died(rest, process)
            if process.call == "tell":
                yield "put the event, death before it is noted", Fault.CRASH, lambda rest=rest: self._tell(rest)
        if world.row is not None:
            yield from self.around(world)
            yield from self._sweeper(world)
            yield from self._time(world)

    def calls(self, world: World, process: Process, slot_is_free: bool) -> Iterator[tuple[str, Callable[[], World]]]:
        """The outcomes of a function's next call; `world` is without the function."""
        match process.call:
            case "accept":
                yield "accept", lambda: self._accept(world, slot_is_free)
            case "tell":
                yield "announce the end", lambda: self.change(self._tell(world), "note_announced")
            case "search":
                yield f"{process}", lambda: self._search(world, process)
            case "take output":
                yield f"{process}", lambda: self._swept(world, process, "succeed")
            case "take failure":
                refused = world.fate(process.attempt) == fates.REFUSED
                yield f"{process}", lambda: self._swept(world, process, "fail_attempt", refused=refused)
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

    def died(self, world: World, process: Process) -> World:
        return world.say(0) if process.holds_message else world

    def change(self, world: World, transition: str, *args: Any, **options: Any) -> World:
        """The row as a shipped transition leaves it, or the same world."""
        assert world.row is not None
        new = self.rows.after(world.row, world.clock, transition, *args, **options)
        return world if new is None or new is world.row else self._write(world, new)

    def _write(self, world: World, new: Row) -> World:
        promises.check_write(world, new)
        promises.check_row(new)
        attempts = world.attempts
        if new.attempts < len(attempts):
            if attempts[-1] != fates.UNUSED:
                raise Broken("I9: an attempt that ran is given back")
            attempts = attempts[:-1]
        return world._replace(row=new, attempts=attempts.ljust(new.attempts, fates.UNUSED))

    def ending(self, world: World, transition: str, *args: Any, sweeps: bool = False, **options: Any) -> World:
        """A change which, if it ends the job, is followed by the announcement."""
        assert world.row is not None
        after = self.change(world, transition, *args, **options)
        assert after.row is not None
        if world.row.is_open and not after.row.is_open:
            return after.plus(Process("tell", sweeps=sweeps))
        return after

    def _accept(self, world: World, slot_is_free: bool) -> World:
        if world.row is not None or not slot_is_free:
            return world  # answered with the job that is there, or with 429
        row = self.rows.accepted()
        promises.check_row(row)
        return self.dispatched(world._replace(row=row, attempts=fates.UNUSED * row.attempts))

    def _tell(self, world: World) -> World:
        if world.row is None or world.row.is_open:
            raise Broken("the end is announced before it")
        return world._replace(told=True)

    def _sweeper(self, world: World) -> Iterator[Possible]:
        row = world.row
        assert row is not None
        if sum(process.sweeps for process in world.processes) < self.sweepers and "no sweeper" not in self.changes:
            if self.rows.after(row, world.clock, "look_again"):
                yield "sweeper: read the row", None, lambda: self._look(world, row)

    def _look(self, world: World, row: Row) -> World:
        attempts = tuple(row.running_attempts()) if tended(row) else ()
        return self._go_on(world, Seen.of(row), attempts)

    def _go_on(self, world: World, seen: Seen, attempts: tuple[int, ...]) -> World:
        if seen.marked and seen.marked not in attempts:
            seen = seen._replace(marked=0)
        if attempts and (seen.is_open or seen.holds_slot):
            looking = Process("search", attempts[0], attempts[1:], seen, sweeps=True)
            return world.plus(looking) if self.looks_apart else self._search(world, looking)
        if world.clock == OVERDUE and (seen.is_open or seen.holds_slot):
            return world.plus(Process("expire", sweeps=True))
        if world.clock != OVERDUE and seen.is_open:
            return self.tend(world, seen)
        return world if seen.announced else world.plus(Process("tell", sweeps=True))

    def _search(self, world: World, process: Process) -> World:
        seen, attempt = process.seen, process.attempt
        assert isinstance(seen, Seen)
        pending = Process("", attempt, process.rest, sweeps=True)
        if world.fate(attempt) == fates.OUTPUT and "sweeper does not look for outputs" not in self.changes:
            return world.plus(pending._replace(call="take output"))
        return self._without_output(world, process, seen)

    def _without_output(self, world: World, process: Process, seen: Seen) -> World:
        """The sweeper has found no output of an attempt."""
        raise NotImplementedError

    def _swept(self, world: World, process: Process, transition: str, **options: Any) -> World:
        """The sweeper changes the row; if that ends the job, announcing it is all that is left to do."""
        after = self.ending(world, transition, process.attempt, sweeps=True, **options)
        assert world.row is not None and after.row is not None
        if world.row.is_open and not after.row.is_open:
            return after
        return self._go_on(after, Seen.of(after.row), process.rest)

    def _expire(self, world: World) -> World:
        after = self.ending(world, "expire", sweeps=True)
        assert world.row is not None
        if not world.row.is_open and not world.row.announced:
            return after.plus(Process("tell", sweeps=True))
        return after

    def _time(self, world: World) -> Iterator[Possible]:
        row = world.row
        assert row is not None
        if row.expires_at is not None and not world.processes and (row.expires_at == SOON or world.is_settled):
            if world.is_settled or row.announced:
                yield "the row is deleted", None, lambda: self._delete(world)
        if world.is_settled:
            return
        if row.lease_until and self._lease_can_end(world):
            yield "the lease runs out", None, lambda: world._replace(row=self.rows.without_lease(row))
        if world.clock == CLAIMS:
            yield "too late for another attempt", None, lambda: world._replace(clock=TOO_LATE)
        elif world.clock == TOO_LATE and not world.processes:
            gone = world.attempts.replace(fates.RUNNING, fates.GONE)
            yield "all attempts are over", None, lambda: world._replace(clock=LAST_MOMENTS, attempts=gone)
        elif world.clock == LAST_MOMENTS:
            yield "the deadline passes", None, lambda: world._replace(clock=OVERDUE)

    def _lease_can_end(self, world: World) -> bool:
        """A lease is longer than any function that holds a claim can live."""
        return not any(process.call in promises.HOLDS_CLAIM for process in world.processes)

    def _delete(self, world: World) -> World:
        assert world.row is not None
        if tended(world.row):
            raise Broken("I5: the row is deleted while it is needed")
        return World(told=True, clock=DELETED)

    def without_trifles(self, world: World) -> World:
        """Worlds that differ in nothing that matters from here on become one."""
        row = world.row
        if row is None:
            return world
        messages = tuple(message for message in world.messages if not self.is_idle(world, message))
        attempts = "".join(
            fate if fate in (fates.OUTPUT, fates.RUNNING) and row.is_open else self.what_matters(world, attempt, fate)
            for attempt, fate in enumerate(world.attempts, 1)
        )
        clock, processes = world.clock, world.processes
        if not row.is_open:
            clock = max(clock, TOO_LATE)
            if not tended(row):
                clock = OVERDUE
                processes = tuple(each for each in processes if not self.is_vain(world, each))
                if not messages and not any(each.call in promises.HOLDS_CLAIM for each in processes):
                    if all(self.is_idle(world, attempt) for attempt in range(1, len(attempts) + 1)):
                        attempts = ""
        return world._replace(attempts=attempts, messages=messages, clock=clock, processes=processes)

    def is_vain(self, world: World, process: Process) -> bool:
        row = world.row
        assert row is not None
        if process.sweeps:
            return process.call != "tell"
        if process.call == "mark":
            return self.rows.after(row, world.clock, "note_invoked", process.attempt, "x") is None
        if process.call == "give back":
            return self.rows.after(row, world.clock, "give_back", process.attempt) is None
        if process.call == "invoke":
            return self.is_idle(world, process.attempt)
        return False

    def what_matters(self, world: World, attempt: int, fate: str) -> str:
        row = world.row
        assert row is not None
        concerned = [p for p in world.processes if p.attempt == attempt or attempt in p.rest]
        if fate == fates.UNUSED:
            return fate if concerned else fates.GONE
        if attempt in row.ended and not concerned:
            return fates.GONE
        if fate in (fates.REFUSED, fates.FAILED):
            if not concerned and row.marked != attempt and attempt not in world.messages:
                return fates.GONE
            if not row.is_open:
                return fates.FAILED
        return fate

    def is_idle(self, world: World, message: int) -> bool:
        """Whether handling the message changes nothing, now and later."""
        raise NotImplementedError
