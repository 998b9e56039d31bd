"""Jobs on a real-time endpoint: messages bring them to workers, which wait for the model's answer."""

from collections.abc import Iterator
from functools import partial

from inference_api.jobs.job import ACCEPTED
from life_cycle import promises
from life_cycle import world as fates
from life_cycle.functions import Functions, Possible
from life_cycle.world import Process, Seen, World

ANSWERS = {"an answer": "store output", "a refusal": "refuse", "an error": "fail", "throttled": "give back"}


class QueueMode(Functions):
    """Only workers claim and invoke."""

    claims_at_acceptance = False
    workers = 2  # at once: what a third could do another one does, sooner or later

    @property
    def _answers(self) -> dict[str, str]:
        return ANSWERS | ({"an answer": "succeed"} if "success before the output is stored" in self.changes else {})

    def dispatched(self, world: World) -> World:
        return world.plus(Process("send"))

    def tend(self, world: World, seen: Seen) -> World:
        if not seen.waiting:
            return world
        return world.plus(Process("count messages" if seen.sent else "send", sweeps=True))

    def without_output(self, world: World, process: Process, seen: Seen) -> World:
        if "the clock is read after the look" in self.changes:
            return world.plus(process._replace(call="look at the lease", seen=seen))
        if seen.lease_over or "sweeper does not look at the lease" in self.changes:
            return world.plus(process._replace(call="lose", seen=seen))
        return self.go_on(world, seen, process.rest)

    def calls(self, world: World, process: Process) -> Iterator[Possible]:
        attempt = process.attempt
        match process.call:
            case "ask the model":
                for answer, then in self._answers.items():
                    yield f"{process}: {answer}", partial(world.plus, process._replace(call=then))
            case "store output":
                stored = world.with_fate(attempt, fates.OUTPUT)
                yield f"{process}", lambda: stored.plus(process._replace(call="succeed"))
            case "succeed" if not process.sweeps:
                yield f"{process}", lambda: self.ending(world, "succeed", attempt)
            case "fail" | "refuse" if not process.sweeps:
                yield f"{process}", lambda: self._sent_again(self.ending(world, process.call, attempt), process)
            case "give back":
                yield f"{process}", lambda: self._sent_again(self.ending(world, "give_back", attempt), process)
            case "send":
                sent = world._replace(queued=True)
                if "sent is noted first" in self.changes:
                    yield f"{process}", lambda: self.change(sent, "note_sent")
                    yield f"{process}: death after it is noted", lambda: self.change(world, "note_sent")
                else:
                    yield f"{process}", lambda: sent.plus(process._replace(call="note sent"))
            case "note sent":
                yield f"{process}", lambda: self.change(world, "note_sent")
            case "count messages":
                yield f"{process}", lambda: self._count(world, process)
                # However many there are: any of the sweeper's looks may be the last before it is too late to start.
                yield f"{process}: last look", lambda: world.plus(process._replace(call="note gone"))
            case "note gone":
                yield f"{process}", lambda: self._note_gone(world, process)
            case "look at the lease":
                yield f"{process}", lambda: self._look_at_lease(world, process)
            case _:
                yield from super().calls(world, process)

    def around(self, world: World) -> Iterator[Possible]:
        if world.queued and world.job.is_open:
            if sum(self._is_worker(each) for each in world.processes) < self.workers:
                yield "a worker takes the message", lambda: self._take(world._replace(queued=False))
                yield "a worker takes the message, which comes again", lambda: self._take(world)
            yield "the message is lost", lambda: world._replace(queued=False)

    def essence(self, world: World) -> World:
        world = super().essence(world)
        return world._replace(queued=False) if world.row and not world.row.is_open else world

    def _look_at_lease(self, world: World, process: Process) -> World:
        assert isinstance(process.seen, Seen)
        if process.attempt in world.job.running_attempts() and not world.job.lease_until:
            return world.plus(process._replace(call="lose", seen=process.seen._replace(lease_over=True)))
        return self.go_on(world, process.seen, process.rest)

    def _is_worker(self, process: Process) -> bool:
        return process.holds_message or ("the message is deleted first" in self.changes and not process.sweeps)

    def _take(self, world: World) -> World:
        """The worker claims, or is done with the message."""
        if "invoke before the claim" in self.changes:
            after, attempt = world, world.job.attempts + 1
        else:
            waits = world.job.state == ACCEPTED or "workers take what is running" in self.changes
            after = self.change(world, "claim") if waits else world
            attempt = after.job.attempts
            if after is world:
                return world
        holds_message = "the message is deleted first" not in self.changes
        after = after.plus(Process("ask the model", attempt, holds_message=holds_message))
        promises.check_calls(after.processes)
        promises.check_invocation(after, attempt)
        return after

    def _sent_again(self, world: World, process: Process) -> World:
        return world.plus(process._replace(call="send", attempt=0)) if world.job.state == ACCEPTED else world

    def _count(self, world: World, process: Process) -> World:
        waiting = world.queued or any(each.holds_message for each in world.processes)
        return world if waiting else world.plus(process._replace(call="note gone"))

    def _note_gone(self, world: World, process: Process) -> World:
        after = self.change(world, "note_gone")
        return after if after.job.sent else after.plus(process._replace(call="send"))
