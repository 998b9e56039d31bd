"""Jobs on a real-time endpoint: messages bring them to workers, which wait for the model's answer."""

from collections.abc import Callable, Iterator

from inference_api.job import ACCEPTED
from life_cycle import promises
from life_cycle import world as fates
from life_cycle.functions import Fault, Functions, Possible
from life_cycle.world import Process, Seen, World


class QueueMode(Functions):
    """Only workers claim and invoke."""

    claims_at_acceptance = False

    def dispatched(self, world: World) -> World:
        return world.plus(Process("send"))

    def tend(self, world: World, seen: Seen) -> World:
        if not seen.waiting:
            return world
        return world.plus(Process("count messages" if seen.sent else "send", sweeps=True))

    def calls(self, world: World, process: Process, slot_is_free: bool) -> Iterator[tuple[str, Callable[[], World]]]:
        attempt = process.attempt
        match process.call:
            case "ask the model":
                for outcome, then in (
                    ("an answer", "store output"),
                    ("a refusal", "refuse"),
                    ("an error", "fail"),
                    ("throttled", "give back"),
                ):
                    yield (
                        f"ask the model {attempt}: {outcome}",
                        lambda then=then: self._answered(world, process._replace(call=then)),
                    )
            case "store output":
                yield (
                    f"{process}",
                    lambda: world.with_fate(attempt, fates.OUTPUT).plus(process._replace(call="succeed")),
                )
            case "succeed":
                yield f"{process}", lambda: self.ending(world, "succeed", attempt)
            case "fail" | "refuse":
                refused = process.call == "refuse"
                yield (
                    f"{process}",
                    lambda: self._sent_again(self.ending(world, "fail_attempt", attempt, refused=refused), process),
                )
            case "give back":
                yield f"{process}", lambda: self._sent_again(self.change(world, "give_back", attempt), process)
            case "send":
                yield f"{process}", lambda: world.say(0).plus(process._replace(call="note sent"))
            case "note sent":
                yield f"{process}", lambda: self.change(world, "note_sent")
            case "count messages":
                yield f"{process}", lambda: self._count(world, process)
            case "note gone":
                yield f"{process}", lambda: self._note_gone(world, process)
            case "look at the lease":
                yield from self._look_at_lease(world, process)
            case _:
                yield from super().calls(world, process, slot_is_free)

    def around(self, world: World) -> Iterator[Possible]:
        if world.messages:
            rest = world.unsay(0)
            yield "a worker takes the message", None, lambda: self._take(rest)
            yield "the message comes twice", Fault.DUPLICATE, lambda: world.say(0)
            yield "the message is lost", Fault.LOSS, lambda: rest

    def is_idle(self, world: World, message: int) -> bool:
        return world.row is not None and not world.row.is_open

    def _without_output(self, world: World, process: Process, seen: Seen) -> World:
        return world.plus(process._replace(call="look at the lease"))

    def _look_at_lease(self, world: World, process: Process) -> Iterator[tuple[str, Callable[[], World]]]:
        seen, row = process.seen, world.row
        assert isinstance(seen, Seen) and row is not None
        if seen.lease_over or not row.lease_until:
            lost = Process("take failure", process.attempt, process.rest, sweeps=True)
            yield f"{process}: over", lambda: world.plus(lost)
        else:
            yield f"{process}: not over", lambda: self._go_on(world, seen, process.rest)

    def _take(self, world: World) -> World:
        """The worker claims, or is done with the message."""
        assert world.row is not None
        after = self.change(world, "claim") if world.row.state == ACCEPTED else world
        if after is world:
            return world
        assert after.row is not None
        after = after.plus(Process("ask the model", after.row.attempts, holds_message=True))
        promises.check_calls(after.processes)
        promises.check_invocation(after, after.row.attempts)
        return after

    def _answered(self, world: World, process: Process) -> World:
        promises.check_invocation(world, process.attempt)
        return world.plus(process)

    def _sent_again(self, world: World, process: Process) -> World:
        assert world.row is not None
        return world.plus(process._replace(call="send", attempt=0)) if world.row.state == ACCEPTED else world

    def _count(self, world: World, process: Process) -> World:
        waiting = world.messages or any(each.holds_message for each in world.processes)
        return world if waiting else world.plus(process._replace(call="note gone"))

    def _note_gone(self, world: World, process: Process) -> World:
        after = self.change(world, "note_gone")
        assert after.row is not None
        return after if after.row.sent else after.plus(process._replace(call="send"))
