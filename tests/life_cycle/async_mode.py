"""Jobs on an asynchronous endpoint: SageMaker holds the attempts, and tells of their ends by notifications."""

from collections.abc import Iterator
from functools import partial

from life_cycle import promises
from life_cycle import world as fates
from life_cycle.functions import Functions, Possible
from life_cycle.world import Process, Seen, World

ENDS = {fates.OUTPUT: "answers", fates.REFUSED: "refuses", fates.FAILED: "fails"}
RECORDED = {fates.OUTPUT: "succeed", fates.REFUSED: "refuse", fates.FAILED: "fail"}


class AsyncMode(Functions):
    """Submitter and sweeper claim and invoke."""

    claims_at_acceptance = True

    def dispatched(self, world: World) -> World:
        return world.plus(Process("invoke", 1)) if world.job.attempts else world

    def tend(self, world: World, seen: Seen) -> World:
        can_claim = self.rows.after(world.job, world.clock, "claim")
        return world.plus(Process("claim", sweeps=True)) if can_claim else world

    def without_output(self, world: World, process: Process, seen: Seen) -> World:
        if process.attempt == seen.marked and world.fate(process.attempt) in (fates.REFUSED, fates.FAILED):
            return world.plus(process._replace(call="fail", seen=()))
        return self.go_on(world, seen, process.rest)

    def calls(self, world: World, process: Process) -> Iterator[Possible]:
        attempt = process.attempt
        match process.call:
            case "claim":
                yield f"{process}", lambda: self._claim(world)
            case "invoke" if "marked before it is invoked" in self.changes:
                marked = self.change(world, "note_invoked", attempt, "failure/job")
                yield f"{process}: taken", lambda: self._invoke(marked, attempt)
                yield f"{process}: death after it is marked", lambda: marked
            case "invoke":
                yield f"{process}: taken", lambda: self._invoke(world, attempt).plus(Process("mark", attempt))
                yield f"{process}: taken, the answer is lost", lambda: self._unanswered(world, attempt)
                yield f"{process}: throttled", lambda: world.plus(Process("give back", attempt))
            case "mark":
                yield f"{process}", lambda: self.change(world, "note_invoked", attempt, "failure/job")
            case "give back":
                yield f"{process}", lambda: self.ending(world, "give_back", attempt)
            case _:
                yield from super().calls(world, process)

    def around(self, world: World) -> Iterator[Possible]:
        for attempt, fate in enumerate(world.attempts, 1):
            if fate == fates.RUNNING:
                for end, does in ENDS.items():
                    yield f"the model {does} {attempt}", partial(world.with_fate, attempt, end)
            elif fate in RECORDED and not self.is_idle(world.job, attempt):
                yield f"record {attempt}", partial(self.ending, world, RECORDED[fate], attempt)

    def _unanswered(self, world: World, attempt: int) -> World:
        taken = self._invoke(world, attempt)
        return taken.plus(Process("give back", attempt)) if "a lost answer is a refusal" in self.changes else taken

    def _claim(self, world: World) -> World:
        if "invoke before the claim" in self.changes:
            return world.plus(Process("invoke", world.job.attempts + 1))
        after = self.change(world, "claim")
        return world if after is world else after.plus(Process("invoke", after.job.attempts))

    def _invoke(self, world: World, attempt: int) -> World:
        promises.check_invocation(world, attempt)
        return world.with_fate(attempt, fates.RUNNING)
