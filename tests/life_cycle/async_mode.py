"""Jobs on an asynchronous endpoint: SageMaker holds the attempts, and tells of their ends by notifications."""

from collections.abc import Callable, Iterator

from life_cycle import promises
from life_cycle import world as fates
from life_cycle.functions import Fault, Functions, Possible
from life_cycle.rows import CLAIMS
from life_cycle.world import Process, Seen, World

FAILURE_KEY = "failure/job"


class AsyncMode(Functions):
    """Submitter and sweeper claim and invoke."""

    claims_at_acceptance = True

    def dispatched(self, world: World) -> World:
        assert world.row is not None
        return world.plus(Process("invoke", 1)) if world.row.attempts else world

    def tend(self, world: World, seen: Seen) -> World:
        assert world.row is not None
        can_claim = self.rows.after(world.row, world.clock, "claim")
        return world.plus(Process("claim", sweeps=True)) if can_claim else world

    def _without_output(self, world: World, process: Process, seen: Seen) -> World:
        attempt = process.attempt
        if attempt == seen.marked and world.fate(attempt) in (fates.REFUSED, fates.FAILED):
            return world.plus(Process("take failure", attempt, process.rest, sweeps=True))
        return self._go_on(world, seen, process.rest)

    def calls(self, world: World, process: Process, slot_is_free: bool) -> Iterator[tuple[str, Callable[[], World]]]:
        attempt = process.attempt
        match process.call:
            case "claim":
                yield "sweeper: claim the next attempt", lambda: self._claim(world)
            case "invoke":
                yield f"invoke {attempt}: taken", lambda: self._invoke(world, attempt).plus(Process("mark", attempt))
                yield f"invoke {attempt}: taken, the answer is lost", lambda: self._invoke(world, attempt)
                yield f"invoke {attempt}: throttled", lambda: world.plus(Process("give back", attempt))
                yield f"invoke {attempt}: an error, not taken", lambda: world
            case "mark":
                yield f"note that {attempt} is invoked", lambda: self.change(world, "note_invoked", attempt, FAILURE_KEY)
            case "give back":
                yield f"give back {attempt}", lambda: self.change(world, "give_back", attempt)
            case _:
                yield from super().calls(world, process, slot_is_free)

    def around(self, world: World) -> Iterator[Possible]:
        for attempt, fate in enumerate(world.attempts, 1):
            if fate == fates.RUNNING:
                for end, does in ((fates.OUTPUT, "answers"), (fates.REFUSED, "refuses"), (fates.FAILED, "fails")):
                    yield (
                        f"the model {does} {attempt}",
                        None,
                        lambda attempt=attempt, end=end: world.with_fate(attempt, end).say(attempt),
                    )
        for message in sorted(set(world.messages)):
            rest = world.unsay(message)
            yield f"record {message}", None, lambda rest=rest, message=message: self._record(rest, message)
            yield (
                f"record {message}, death before the acknowledgement",
                Fault.CRASH,
                lambda message=message: self._record(world, message),
            )
            yield f"notification {message} comes twice", Fault.DUPLICATE, lambda message=message: world.say(message)
            yield f"notification {message} is lost", Fault.LOSS, lambda rest=rest: rest

    def is_idle(self, world: World, message: int) -> bool:
        row = world.row
        assert row is not None
        changes = (
            self.rows.after(row, CLAIMS, "succeed", message),
            self.rows.after(row, CLAIMS, "fail_attempt", message, refused=False),
        )
        return changes == (None, None)

    def _claim(self, world: World) -> World:
        after = self.change(world, "claim")
        if after is world:
            return world
        assert after.row is not None
        return after.plus(Process("invoke", after.row.attempts))

    def _invoke(self, world: World, attempt: int) -> World:
        promises.check_invocation(world, attempt)
        return world.with_fate(attempt, fates.RUNNING)

    def _record(self, world: World, attempt: int) -> World:
        fate = world.fate(attempt)
        if fate == fates.OUTPUT:
            return self.ending(world, "succeed", attempt)
        return self.ending(world, "fail_attempt", attempt, refused=fate == fates.REFUSED)
