"""I1, I2, I5 and refusals (I4): every job ends in time, for good, and is kept as long as promised."""

import json
import re
from collections.abc import Iterator
from typing import Any

from inference_api.jobs.state.transitions import MAX_ATTEMPTS
from simulation.callers.history import Exchange
from simulation.callers.job_callers import FINAL
from simulation.invariants.invariant import Story, invariant, prompt_of_job, row_at, when
from simulation.runtime.model import REFUSED
from simulation.world.world import World

# Two functions may end a job at once, each at its own time.
_LONGEST_CALL_IN_SECONDS = 90


@invariant
def i1_an_accepted_job_exists(world: World) -> Iterator[Story]:
    """A job that was answered has a row, and its owner finds it until it expires."""
    for exchange in world.history.exchanges:
        job = exchange.shown.get("id")
        if job and not row_at(world, job, exchange.ended_at):
            yield job, f"{when(exchange.ended_at)} {exchange.action} answered with an id that has no row"
        if exchange.action == "poll" and exchange.reply.status == 404 and exchange.job in world.history.rows:
            final = world.history.final_row(exchange.job)
            if final.is_open or exchange.ended_at < final.number("expires_at"):
                yield exchange.job, f"{when(exchange.ended_at)} its owner got a 404"


@invariant
def i1_every_job_ends_in_time(world: World) -> Iterator[Story]:
    """A job ends by its deadline and two undisturbed sweeps. The first may miss a job that the index shows late."""
    whole = [sweep for sweep in world.sweeps if sweep.outcome == "returned" and not sweep.disturbed]
    for job, rows in world.history.rows.items():
        end, deadline = world.history.end_of(job), rows[0].number("deadline")
        if end is None:
            yield job, f"never ended; last seen {rows[-1].state} with {rows[-1].number('attempts'):.0f} attempts"
            continue
        if end.at > deadline:
            seen = sum(deadline < sweep.started_at and sweep.ended_before(end.at) for sweep in whole)
            if seen > 2:
                yield job, f"{when(end.at)} {end.state}, {seen} whole sweeps after its deadline {when(deadline)}"


@invariant
def i2_callers_see_no_change_after_the_end(world: World) -> Iterator[Story]:
    """After the first response with the end, every later response is the same until the job expires."""
    ends: dict[str, Exchange] = {}
    for exchange in sorted(world.history.exchanges, key=lambda exchange: exchange.ended_at):
        shown = exchange.shown
        job = shown.get("id")
        if not job or exchange.action not in ("poll", "submit", "cancel"):
            continue
        first = ends.get(job)
        if first and exchange.started_at >= first.ended_at and _answer(shown) != _answer(first.shown):
            yield job, f"{when(exchange.ended_at)} {_answer(first.shown)} became {_answer(shown)}"
        if shown["status"] in FINAL and exchange.action != "cancel":
            ends.setdefault(job, exchange)


@invariant
def i4_refused_prompts_fail_and_others_are_never_refused(world: World) -> Iterator[Story]:
    """A job is `rejected_by_model` exactly if the model refused its prompt."""
    for job in world.history.rows:
        end, refused = world.history.end_of(job), REFUSED in prompt_of_job(world, job)
        if end and refused and end.state == "SUCCEEDED":
            yield job, "succeeded with a prompt that the model refuses"
        if end and end.state == "FAILED" and (end.text("error_code") == "rejected_by_model") and not refused:
            yield job, "failed as refused, which the model has not done"


@invariant
def i5_nothing_is_deleted_before_its_time(world: World) -> Iterator[Story]:
    """A row stays for the whole retention after its end, and so does the text that it shows."""
    for job, rows in world.history.rows.items():
        end, gone = world.history.end_of(job), next((row for row in rows if row.item is None), None)
        # Whole seconds from the row's own `ended_at`.
        keep_until = int(end.number("ended_at")) + world.trial.retention if end else 0
        if gone and (end is None or gone.at < keep_until):
            yield job, f"{when(gone.at)} deleted, ended {when(end.at) if end else 'never'}"
        if end and end.number("expires_at") < keep_until:
            yield job, f"kept for only {end.number('expires_at') - end.at:.0f} s"
        if end:
            shown = end.output_attempt, int(end.number("error_attempt"))
            for attempt, until in _texts(world, job, end.at):
                if attempt in shown and until < end.number("expires_at") - _LONGEST_CALL_IN_SECONDS:
                    yield job, f"{when(end.at)} the text of attempt {attempt} goes before its row"


@invariant
def texts_go_with_their_row(world: World) -> Iterator[Story]:
    """No answer and no words of the model stay in the table longer than their job."""
    for job in world.history.rows:
        end = world.history.end_of(job)
        for attempt, until in _texts(world, job, end.at) if end else ():
            if end and until > end.number("expires_at") + _LONGEST_CALL_IN_SECONDS:
                yield job, f"{when(end.at)} the text of attempt {attempt} outlives its row"


def _texts(world: World, job: str, at: float) -> Iterator[tuple[int, float]]:
    """Return the attempts of a job with a text in the table at a time, and until when the text may stay."""
    for attempt in range(1, MAX_ATTEMPTS + 1):
        for kind in ("output", "error"):
            writes = [item for moment, item in world.history.texts.get(f"{kind}#{job}.{attempt}", []) if moment <= at]
            if writes and writes[-1]:
                yield attempt, float(writes[-1]["expires_at"]["N"])


def _answer(shown: dict[str, Any]) -> str:
    """Return an answer without the signature of a link."""
    answer = {name: shown.get(name) for name in ("status", "output", "output_url", "error", "ended_at")}
    return re.sub(r"X-Amz-[^&]*", "", json.dumps(answer))[:300]
