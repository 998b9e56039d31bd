"""I8: what is counted is what there is, and no limit is passed."""

from collections import defaultdict
from collections.abc import Iterator

from simulation.aws.realtime_endpoint import MAX_SECONDS
from simulation.invariants.invariant import Story, invariant, when
from simulation.world import World


@invariant
def i8_slots_equal_unfinished_work(world: World) -> Iterator[Story]:
    """After every single commit an owner's count is the number of jobs that hold a slot; at last that is none."""
    for story in world.history.slot_mismatches[:5]:
        yield "", story
    for owner, taken in world.history.slots.items():
        if taken:
            yield "", f"owner {owner} counts {taken} slots at the end"


@invariant
def i8_a_cancelled_job_keeps_its_slot_while_it_runs(world: World) -> Iterator[Story]:
    """Its owner may not put more work on the model than the limit says, by cancelling what the model still works on."""
    busy = _busy_times(world)
    for job, rows in world.history.rows.items():
        if rows[-1].state != "CANCELLED" and not any(row.state == "CANCELLED" for row in rows):
            continue
        freed_at = next((row.at for row in rows if not row.holds_slot), None)
        if freed_at is None or freed_at >= rows[0].number("deadline"):
            continue
        for began, ended in busy[job]:
            if began < freed_at < ended:
                yield job, f"{when(freed_at)} its slot was freed; the model worked on it until {when(ended)}"


@invariant
def i8_nobody_goes_past_a_limit(world: World) -> Iterator[Story]:
    """Neither an owner's open jobs and tokens nor the callers that are held at once."""
    for write in world.history.writes_of_others:
        item = write.new or {}
        if write.pk.startswith("waiting#") and int(item.get("waiting", {"N": "0"})["N"]) > world.trial.max_waiting:
            yield "", f"{when(write.at)} {item['waiting']['N']} callers were admitted to {write.pk}"
        budget = world.trial.answer_tokens_per_day
        if "tokens" in item and budget is not None and int(item["tokens"]["N"]) > budget:
            yield "", f"{when(write.at)} {write.pk} has {item['tokens']['N']} tokens"
        if "open" in item and not 0 <= int(item["open"]["N"]) <= world.trial.open_jobs:
            yield "", f"{when(write.at)} {write.pk} has {item['open']['N']} open jobs"


@invariant
def i8_accepted_is_open_and_ended(world: World) -> Iterator[Story]:
    """Every row was accepted once and is counted once, by the app's own metrics as by the table."""
    ended = sum(world.history.end_of(job) is not None for job in world.history.rows)
    counted = world.log.metrics["JobsEnded"]
    if counted > ended:
        yield "", f"{counted} ends were counted, {ended} happened"
    if world.log.metrics["JobsAccepted"] > len(world.history.rows):
        yield "", f"{world.log.metrics['JobsAccepted']} jobs were counted, {len(world.history.rows)} accepted"


def _busy_times(world: World) -> dict[str, list[tuple[float, float]]]:
    """When attempts of a job were with the model, as SageMaker tells: a call that is cut off is over for it."""
    busy: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for request in world.deployment.requests:
        busy[request.job].append((request.received_at, request.over_at))
    for run in world.deployment.model.runs if not world.deployment.requests else []:
        busy[run.job].append((run.started_at, min(run.ended_at, run.started_at + MAX_SECONDS)))
    return busy
