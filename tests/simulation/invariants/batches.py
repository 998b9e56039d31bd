"""Batches: every line has exactly one result, in the order of the input, whatever happens to the functions."""

from collections.abc import Iterator

from simulation.callers.batch_callers import ENDED, FollowedBatch
from simulation.invariants.invariant import Story, invariant
from simulation.runtime.model import prompt_answered
from simulation.world.world import World

_UNEXECUTED = {"cancelled": "batch_cancelled", "expired": "batch_expired"}


@invariant
def batches_end(world: World) -> Iterator[Story]:
    for batch in _begun(world):
        if batch.last["status"] not in ENDED:
            yield "", f"{batch.last['id']} is {batch.last['status']}"
        elif batch.last["status"] == "failed":
            yield "", f"{batch.last['id']} failed although its input is valid: {batch.last['errors']}"
        elif batch.last["status"] == "cancelled" and not batch.asked_to_cancel:
            yield "", f"{batch.last['id']} was cancelled by nobody"


@invariant
def an_idempotency_key_makes_one_batch(world: World) -> Iterator[Story]:
    begun = {
        write.pk.removeprefix("batch#") for write in world.history.writes_of_others if write.pk.startswith("batch#")
    }
    known = {batch.last["id"] for batch in _begun(world)}
    if known - begun:
        yield "", f"{known - begun} have no rows"
    if len(begun) > len(world.batch_callers.followed):
        yield "", f"{len(world.batch_callers.followed)} callers have begun {len(begun)} batches"


@invariant
def a_batch_that_is_cancelled_while_it_is_validated_has_begun_nothing(world: World) -> Iterator[Story]:
    ran = {run.prompt for run in world.deployment.runs}
    for batch in _begun(world):
        if batch.last["request_counts"]["total"]:
            continue
        if batch.last["status"] != "cancelled" or batch.last["in_progress_at"] or batch.output or batch.errors:
            yield "", f"{batch.last['id']} is {batch.last['status']} without lines"
        if begun := ran & {prompt for prompt in batch.prompts.values() if prompt}:
            yield "", f"{batch.last['id']} has no lines, but the model was asked for {len(begun)}"


@invariant
def each_line_of_a_batch_has_one_result_in_order(world: World) -> Iterator[Story]:
    for batch in _begun(world):
        if not batch.last["request_counts"]["total"]:  # cancelled before it was checked
            continue
        order = {custom_id: number for number, custom_id in enumerate(batch.prompts)}
        seen: list[int] = []
        for lines in (batch.output, batch.errors):
            numbers = [order[line["custom_id"]] for line in lines]
            if numbers != sorted(numbers):
                yield "", f"{batch.last['id']}: lines are out of order"
            seen += numbers
        if sorted(seen) != list(order.values()):
            yield "", f"{batch.last['id']}: {len(seen)} results of {len(set(seen))} lines for {len(order)}"
        if len({line["id"] for line in [*batch.output, *batch.errors]}) != len(seen):
            yield "", f"{batch.last['id']}: ids appear twice"
        counts = {"total": len(order), "completed": len(batch.output), "failed": len(batch.errors)}
        if batch.last["request_counts"] != counts:
            yield "", f"{batch.last['id']}: {batch.last['request_counts']} are not {counts}"


@invariant
def results_of_a_batch_answer_their_lines(world: World) -> Iterator[Story]:
    for batch in _begun(world):
        for line in batch.output:
            body = line["response"]["body"]
            answered = prompt_answered(body["choices"][0]["text"])
            if answered != batch.prompts[line["custom_id"]] or body["model"] != "simulated" or line["error"]:
                yield "", f"{batch.last['id']}: {line['custom_id']} is answered by {answered}"
        for line in batch.errors:
            if line["response"] and line["response"]["status_code"] == 200:
                yield "", f"{batch.last['id']}: {line['custom_id']} is no error"
            if not line["response"] and line["error"]["code"] != _UNEXECUTED.get(batch.last["status"]):
                yield "", f"{batch.last['id']}: {line['custom_id']} was not executed, but {batch.last['status']}"
            prompt = batch.prompts[line["custom_id"]]
            if not prompt and line["response"] and line["response"]["status_code"] != 400:
                yield "", f"{batch.last['id']}: {line['custom_id']} is empty, and was not refused"


@invariant
def counts_of_a_batch_never_go_back(world: World) -> Iterator[Story]:
    for batch in _begun(world):
        ended = [sum(view["request_counts"][name] for name in ("completed", "failed")) for view in batch.views]
        if ended != sorted(ended) or max(ended) > len(batch.prompts):
            yield "", f"{batch.last['id']}: its counts were {ended}"


@invariant
def the_model_is_asked_for_lines_of_batches_only(world: World) -> Iterator[Story]:
    """The model gets lines of batches as they stand in the input."""
    prompts = [prompt for batch in _begun(world) for prompt in batch.prompts.values() if prompt]
    ran = [run.prompt for run in world.deployment.runs if run.prompt.startswith("batch ")]
    if strangers := set(ran) - set(prompts):
        yield "", f"the model was asked for {sorted(strangers)[:3]}, which no batch has"


def _begun(world: World) -> Iterator[FollowedBatch]:
    return (batch for batch in world.batch_callers.followed if batch.views)
