"""Today's functions go on with what a kept release has left: rows, messages, objects, requests at the endpoint.

The functions of the release are killed in the middle of their work, which is the worst that an update does to them.
"""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from inference_api.jobs.state.job import SHOWN
from inference_api.jobs.state.transitions import MAX_ATTEMPTS
from simulation.aws.expressions import Item
from simulation.runtime.faults import Rates
from simulation.runtime.gateway import Reply
from simulation.runtime.model import REFUSED, body_for, prompt_answered, prompt_of
from simulation.world.release import KINDS, remains_of, trial_of
from simulation.world.remains import Remains
from simulation.world.world import World
from support.releases.kept_releases import kept_releases

LONGEST_IN_SECONDS = 3600  # a message that is lost with its worker is sent again after 10 to 15 minutes
KEPT = {
    f"{release.version} {each['mode']} {each['at']:.0f}": Remains(**each)
    for release in kept_releases()
    for each in release.rows
}
OPEN = ("ACCEPTED", "SUBMITTED")
_OF_A_CALLER = re.compile("open:|[0-9a-f]{32}")  # names of attributes that hold an id
ENDED = ("failed", "completed", "expired", "cancelled")
moments = pytest.mark.parametrize("moment", KEPT)


@cache
def resumed(moment: str) -> World:
    """Run today's functions for an hour on what the release has left at a moment, with time for each job."""
    kept = KEPT[moment]
    trial = replace(trial_of(kept.mode), jobs=0, batches=0, calls=0, rates=Rates(), capacity=16, median=1)
    world = World(trial, start=kept.at)
    world.resume(kept, LONGEST_IN_SECONDS)
    return world


def rows(items: list[Item], kind: str) -> dict[str, Item]:
    """Return the rows of a kind by id."""
    found = (each for each in items if each["pk"]["S"].startswith(f"{kind}#"))
    return {each["pk"]["S"].partition("#")[2]: each for each in found}


def get(world: World, path: str, principal: str, row: str) -> Reply:
    return world.ask(lambda: world.batch_callers.gateway.call("GET", path, principal, job=row))


def prompts(kept: Remains) -> dict[str, str]:
    """Return the prompt of each job by its input object."""
    found = {key.removeprefix("input/"): each for key, each in kept.objects.items() if key.startswith("input/")}
    return {job: prompt_of(versions[0]["body"].encode()) for job, versions in found.items()}


@moments
def test_an_open_job_ends_with_the_answer_to_its_prompt(moment: str) -> None:
    kept, world = KEPT[moment], resumed(moment)
    asked = prompts(kept)
    for job, row in rows(kept.jobs, "job").items():
        if row["state"]["S"] in OPEN and job in kept.callers:
            shown = get(world, "/jobs/{id}", kept.callers[job], job).body
            assert shown["status"] in ends(row, asked[job], kept.at)
            if shown["status"] == "succeeded":
                assert prompt_answered(shown["output"]) == asked[job]


def ends(row: Item, prompt: str, at: float) -> tuple[str, ...]:
    """Return the states in which a job may end that is open at a time."""
    if REFUSED in prompt:
        return ("failed",)
    if float(row["deadline"]["N"]) <= at:
        return ("expired",)
    # The attempt that dies with its function may be the last one.
    return ("succeeded", "failed") if int(row.get("attempts", {"N": "0"})["N"]) == MAX_ATTEMPTS else ("succeeded",)


@moments
def test_a_job_that_has_ended_stays_as_it_is(moment: str) -> None:
    kept, world = KEPT[moment], resumed(moment)
    asked = prompts(kept)
    for job, row in rows(kept.jobs, "job").items():
        if row["state"]["S"] not in OPEN and job in kept.callers:
            shown = get(world, "/jobs/{id}", kept.callers[job], job).body
            assert shown["status"] == SHOWN[row["state"]["S"]]
            if shown["status"] == "succeeded":
                assert prompt_answered(shown["output"]) == asked[job]


@moments
def test_every_batch_ends_with_one_result_for_each_line(moment: str) -> None:
    kept, world = KEPT[moment], resumed(moment)
    for batch, row in rows(kept.jobs, "batch").items():
        data = json.loads(row["data"]["S"])
        if batch not in kept.callers:
            continue
        shown = get(world, "/batches/{id}", kept.callers[batch], batch).body
        assert shown["status"] == (data["status"] if data["status"] in ENDED else data["ending"] or "completed")
        if shown["status"] == "completed":
            files = filter(None, (shown["output_file_id"], shown["error_file_id"]))
            lines = [each for file in files for each in content(world, kept.callers[batch], file)]
            assert len({each["custom_id"] for each in lines}) == len(lines) == shown["request_counts"]["total"]


def content(world: World, principal: str, file: str) -> list[Any]:
    return [json.loads(line) for line in get(world, "/files/{id}/content", principal, file).body.splitlines()]


@moments
def test_no_slot_is_held_and_no_token_is_charged_at_the_end(moment: str) -> None:
    world = resumed(moment)
    for owner, row in rows(list(world.deployment.table.items.values()), "owner").items():
        assert row.get("open", {"N": "0"})["N"] == "0", owner
    for account in world.deployment.usage.items.values():
        calls = sum(int(tokens) for each in account.values() for tokens in each.get("S", "").split()[1:])
        counted = sum(int(account.get(name, {"N": "0"})["N"]) for name in ("tokens_in", "tokens_out"))
        assert int(account["charged"]["N"]) == counted + calls


@moments
def test_a_request_that_is_repeated_with_its_key_finds_its_job(moment: str) -> None:
    kept, world = KEPT[moment], resumed(moment)
    for principal, key, prompt, job in kept.keys:
        assert submit(world, principal, key, prompt).body["id"] == job
        assert submit(world, principal, key, f"another {prompt}").body["error"]["code"] == "idempotency_key_reused"


def submit(world: World, principal: str, key: str, prompt: str) -> Reply:
    request: dict[str, Any] = {"body": body_for(prompt), "headers": {"Idempotency-Key": key}}
    return world.ask(lambda: world.batch_callers.gateway.call("POST", "/jobs", principal, **request))


@pytest.mark.parametrize("mode", KINDS)
def test_the_functions_of_a_release_can_read_what_todays_write(mode: str) -> None:
    """For the length of an update, and after a rollback, functions of both write the same rows."""
    written = shapes(vars(state) for state in remains_of(mode))
    for release in kept_releases():
        for kind, (always, words) in shapes(each for each in release.rows if each["mode"] == mode).items():
            attributes_today, words_today = written[kind]
            assert (kind, always - attributes_today, words_today - words) == (kind, set(), set())


def shapes(states: Iterable[Mapping[str, Any]]) -> dict[str, tuple[set[str], set[str]]]:
    """Return for each kind of row the attributes that all have, and the words that stand in `state` or `status`."""
    found: dict[str, tuple[set[str], set[str]]] = {}
    for item in (each for state in states for each in (*state["jobs"], *state["usage"])):
        kind, attributes, words = item["pk"]["S"].partition("#")[0], set[str](), set[str]()
        data = json.loads(item["data"]["S"]) if "data" in item else {}
        attributes |= {f"{name} {next(iter(value))}" for name, value in item.items() if not _OF_A_CALLER.match(name)}
        attributes |= {f"data.{name} {type(value).__name__}" for name, value in data.items()}
        words |= {item["state"]["S"]} if "state" in item else {str(data.get("status"))}
        always, some = found.get(kind, (attributes, words))
        found[kind] = (always & attributes, some | words)
    return found
