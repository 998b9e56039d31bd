"""I8: the counters are right, and no limit is passed."""

from collections.abc import Iterator
from math import ceil

from simulation.invariants.invariant import Story, invariant, when
from simulation.world.world import World


@invariant
def i8_slots_equal_unfinished_work(world: World) -> Iterator[Story]:
    """After each commit an owner's counter is the number of jobs that hold a slot; at the end it is 0."""
    for story in world.history.slot_mismatches[:5]:
        yield "", story
    for owner, taken in world.history.slots.items():
        if taken:
            yield "", f"owner {owner} counts {taken} slots at the end"


@invariant
def i8_no_limit_is_passed(world: World) -> Iterator[Story]:
    """No owner passes the limits of open jobs and tokens, and no more callers wait than may."""
    for write in world.history.writes_of_others:
        item = write.new or {}
        if write.pk == "waiting":
            sets = {name: len(value["SS"]) for name, value in item.items() if name != "pk"}
            most, share = world.trial.max_waiting, ceil(world.trial.max_waiting / 2)
            if sets.pop("places", 0) > most or any(held > share for held in sets.values()):
                yield "", f"{when(write.at)} more than {most} callers are held, or one caller {share} times: {item}"
        budget = world.trial.answer_tokens_per_day
        if "tokens" in item and budget is not None and int(item["tokens"]["N"]) > budget:
            yield "", f"{when(write.at)} {write.pk} has {item['tokens']['N']} tokens"
        if "open" in item and not 0 <= int(item["open"]["N"]) <= world.trial.open_jobs:
            yield "", f"{when(write.at)} {write.pk} has {item['open']['N']} open jobs"


@invariant
def i8_metrics_count_each_job_once(world: World) -> Iterator[Story]:
    """The metrics count no more jobs and ends than the table holds."""
    ended = sum(world.history.end_of(job) is not None for job in world.history.rows)
    counted = world.log.metrics["JobsEnded"]
    if counted > ended:
        yield "", f"{counted} ends were counted, {ended} happened"
    if world.log.metrics["JobsAccepted"] > len(world.history.rows):
        yield "", f"{world.log.metrics['JobsAccepted']} jobs were counted, {len(world.history.rows)} accepted"
