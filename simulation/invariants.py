"""What has to hold, whatever happened: each invariant reads the history of a trial and tells of every breach."""

import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from simulation.aws.realtime_endpoint import MAX_SECONDS
from simulation.callers import FINAL
from simulation.history import Exchange, Row
from simulation.model import CANARY, REFUSED, prompt_answered, prompt_of
from simulation.world import START, World

MAX_ROW_BYTES = 1024
SHOWN = {
    "ACCEPTED": "queued",
    "SUBMITTED": "running",
    "SUCCEEDED": "succeeded",
    "FAILED": "failed",
    "EXPIRED": "expired",
    "CANCELLED": "cancelled",
}
# What the sweeper may still note of a job that has ended.
_BOOKKEEPING = {
    "due_at",
    "due_shard",
    "announced",
    "holds_slot",
    "ended",
    "version",
    "writer",
    "marked",
    "lease_until",
    "attempts",
}
_FOR_LIFE = ("id", "owner", "accepted_at", "deadline", "listed_at")


class Breach(NamedTuple):
    """One case in which an invariant did not hold."""

    invariant: str
    job: str
    story: str


Check = Callable[[World], Iterator[tuple[str, str]]]
INVARIANTS: dict[str, Check] = {}


def invariant(check: Check) -> Check:
    INVARIANTS[check.__name__] = check
    return check


def breaches(world: World) -> list[Breach]:
    """All of them."""
    return [Breach(name, job, story) for name, check in INVARIANTS.items() for job, story in check(world)]


@invariant
def i1_an_accepted_job_exists(world: World) -> Iterator[tuple[str, str]]:
    """Whoever got an id has a row, and finds it until its time is over."""
    for exchange in world.history.exchanges:
        job = exchange.shown.get("id")
        if job and not _row_at(world, job, exchange.ended_at):
            yield job, f"{_when(exchange.ended_at)} {exchange.action} answered with an id that has no row"
        if exchange.action == "poll" and exchange.reply.status == 404 and exchange.job in world.history.rows:
            final = world.history.final_row(exchange.job)
            if final.is_open or exchange.ended_at < final.number("expires_at"):
                yield exchange.job, f"{_when(exchange.ended_at)} its owner was told that it does not exist"


@invariant
def i1_every_job_ends_in_time(world: World) -> Iterator[tuple[str, str]]:
    """By its deadline and two sweeps that nothing disturbs, the first of which may miss what the index shows late."""
    whole = [sweep for sweep in world.sweeps if sweep.outcome == "returned" and not sweep.disturbed]
    for job, rows in world.history.rows.items():
        end, deadline = world.history.end_of(job), rows[0].number("deadline")
        if end is None:
            yield job, f"never ended; last seen {rows[-1].state} with {rows[-1].number('attempts'):.0f} attempts"
            continue
        if end.at > deadline:
            seen = sum(deadline < sweep.started_at and sweep.ended_before(end.at) for sweep in whole)
            if seen > 2:
                yield job, f"{_when(end.at)} {end.state}, {seen} whole sweeps after its deadline {_when(deadline)}"


@invariant
def i2_an_end_is_final(world: World) -> Iterator[tuple[str, str]]:
    """A final state is written once, and what was written with it never changes."""
    for job, rows in world.history.rows.items():
        end: Row | None = None
        for row in rows:
            if end and row.item and end.item:
                changed = {
                    name for name in {*end.item, *row.item} - _BOOKKEEPING if end.item.get(name) != row.item.get(name)
                }
                if changed:
                    yield job, f"{_when(row.at)} {end.state} became {row.state}; changed: {sorted(changed)}"
            elif row.item and not row.is_open:
                end = row


@invariant
def i2_callers_see_no_change_after_the_end(world: World) -> Iterator[tuple[str, str]]:
    """Once a caller was told the end, every later question gets the same answer, until the job has had its time."""
    told: dict[str, Exchange] = {}
    for exchange in sorted(world.history.exchanges, key=lambda exchange: exchange.ended_at):
        shown = exchange.shown
        job = shown.get("id")
        if not job or exchange.action not in ("poll", "submit", "cancel"):
            continue
        first = told.get(job)
        if first and exchange.started_at >= first.ended_at and _answer(shown) != _answer(first.shown):
            yield job, f"{_when(exchange.ended_at)} {_answer(first.shown)} became {_answer(shown)}"
        if shown["status"] in FINAL and exchange.action != "cancel":
            told.setdefault(job, exchange)


@invariant
def i3_a_success_has_its_output(world: World) -> Iterator[tuple[str, str]]:
    """The pinned version exists, is what the row says, answers the job's own prompt, and its copy is the same."""
    for job in world.history.rows:
        end = world.history.end_of(job)
        if not end or not end.item or end.state != "SUCCEEDED":
            continue
        pinned = end.item["output"]["M"]
        versions = world.bucket.objects.get(pinned["key"]["S"], [])
        version = next((each for each in versions if each.version_id == pinned["version_id"]["S"]), None)
        if version is None or version.written_at > end.at:
            yield job, f"{_when(end.at)} pinned {pinned['key']['S']}, which did not exist"
            continue
        if version.etag.strip('"') != pinned["etag"]["S"].strip('"') or len(version.body) != int(pinned["size"]["N"]):
            yield job, "the pinned object is not the one that the row describes"
        if version.body and prompt_answered(json.loads(version.body)) != _prompt(world, job):
            yield job, f"answers another prompt: {version.body[:80]!r}"
        if pinned["in_table"]["BOOL"]:
            yield from _copies(world, job, end, int(pinned["attempt"]["N"]), version.body)


@invariant
def i3_callers_get_the_pinned_output(world: World) -> Iterator[tuple[str, str]]:
    """What is shown as a job's output is what its row pins, or a link to exactly that version."""
    for exchange in world.history.exchanges:
        shown = exchange.shown
        if shown.get("status") != "succeeded" or exchange.action == "cancel":
            continue
        end = world.history.end_of(shown["id"])
        if end is None or not end.item or "output" not in end.item:
            yield shown["id"], "shown as succeeded, which it never was"
            continue
        pinned = end.item["output"]["M"]
        if "output_url" in shown:
            if f"versionId={pinned['version_id']['S']}" not in shown["output_url"]:
                yield shown["id"], f"linked to {shown['output_url']}"
            continue
        versions = world.bucket.objects.get(pinned["key"]["S"], [])
        body = next((each.body for each in versions if each.version_id == pinned["version_id"]["S"]), b"")
        if "output" not in shown or shown["output"] != (json.loads(body) if body else ""):
            yield shown["id"], f"{_when(exchange.ended_at)} shown {str(shown)[:200]}, pinned {body[:80]!r}"


@invariant
def i4_nothing_ends_badly_that_has_an_output(world: World) -> Iterator[tuple[str, str]]:
    """No FAILED or EXPIRED while a result exists or can still come: for such a job no output is ever written."""
    outputs = defaultdict(list)
    for key in world.bucket.keys("output/"):
        outputs[key.split("/")[1]].append(world.bucket.objects[key][0].written_at)
    for job in world.history.rows:
        end = world.history.end_of(job)
        if end and end.state in ("FAILED", "EXPIRED") and job in outputs:
            yield job, f"{_when(end.at)} {end.state}, outputs were written {[_when(at) for at in outputs[job]]}"


@invariant
def i4_only_the_deadline_expires(world: World) -> Iterator[tuple[str, str]]:
    """EXPIRED never comes before the deadline, FAILED only after an attempt that failed."""
    for job, rows in world.history.rows.items():
        end = world.history.end_of(job)
        if end and end.state == "EXPIRED" and end.at < rows[0].number("deadline"):
            yield job, f"{_when(end.at)} expired before {_when(rows[0].number('deadline'))}"
        if end and end.state == "FAILED" and not end.text("error_code"):
            yield job, f"{_when(end.at)} failed without an error"


@invariant
def i4_refused_prompts_fail_and_others_are_never_refused(world: World) -> Iterator[tuple[str, str]]:
    """The model's own refusal is final and only its own."""
    for job in world.history.rows:
        end, refused = world.history.end_of(job), REFUSED in _prompt(world, job)
        if end and refused and end.state == "SUCCEEDED":
            yield job, "succeeded with a prompt that the model refuses"
        if end and end.state == "FAILED" and (end.text("error_code") == "rejected_by_model") and not refused:
            yield job, "failed as refused, which the model has not done"


@invariant
def i5_nothing_is_deleted_before_its_time(world: World) -> Iterator[tuple[str, str]]:
    """A row carries its expiry only with its end, keeps it for the whole retention, and goes after all that it needs."""
    for job, rows in world.history.rows.items():
        for row in rows:
            if row.item and row.is_open and "expires_at" in row.item:
                yield job, f"{_when(row.at)} may be deleted although it is {row.state}"
        end, gone = world.history.end_of(job), next((row for row in rows if row.item is None), None)
        # Whole seconds, from the moment that the row itself gives as the end.
        keep_until = int(end.number("ended_at")) + world.trial.retention if end else 0
        if gone and (end is None or gone.at < keep_until):
            yield job, f"{_when(gone.at)} deleted, ended {_when(end.at) if end else 'never'}"
        if end and end.number("expires_at") < keep_until:
            yield job, f"kept for only {end.number('expires_at') - end.at:.0f} s"
    for name, writes in world.history.copies.items():
        end = world.history.end_of(name.split(".")[0])
        for at, item in writes:
            if (
                item
                and end
                and end.at <= at + world.trial.deadline
                and float(item["expires_at"]["N"]) < end.number("expires_at")
            ):
                yield name.split(".")[0], f"{_when(at)} its result goes before its row"


@invariant
def i6_owner_and_input_never_change(world: World) -> Iterator[tuple[str, str]]:
    for job, rows in world.history.rows.items():
        for name in _FOR_LIFE:
            values = {str(row.item.get(name)) for row in rows if row.item}
            if len(values) != 1:
                yield job, f"{name} changed: {values}"
        bodies = {version.body for version in world.bucket.objects.get(f"input/{job}", [])}
        if len(bodies) != 1:
            yield job, f"has {len(bodies)} inputs"


@invariant
def i6_only_the_owner_sees_a_job(world: World) -> Iterator[tuple[str, str]]:
    """Strangers learn nothing: unknown, foreign and malformed ids get the same answer; lists hold one's own jobs only."""
    answers: Counter[str] = Counter()
    owners = _owners(world)
    for exchange in world.history.exchanges:
        if exchange.action == "pry" and exchange.reply.status < 500:
            answers[json.dumps([exchange.reply.status, exchange.reply.body, sorted(exchange.reply.headers)])] += 1
        if exchange.action == "list" and exchange.reply.status == 200:
            for listed in exchange.reply.body["jobs"]:
                if world.history.final_row(listed["id"]).text("owner") != owners.get(exchange.principal):
                    yield listed["id"], f"{_when(exchange.ended_at)} listed for {exchange.principal}"
    if len(answers) > 1:
        yield "", f"strangers get different answers: {answers}"


@invariant
def i6_only_the_owner_cancels(world: World) -> Iterator[tuple[str, str]]:
    """A job is CANCELLED only if its owner asked for that."""
    asked = {exchange.job for exchange in world.history.exchanges if exchange.action == "cancel"}
    for job in world.history.rows:
        end = world.history.end_of(job)
        if end and end.state == "CANCELLED" and job not in asked:
            yield job, f"{_when(end.at)} cancelled, and nobody who may had asked"


@invariant
def i7_a_key_makes_one_job(world: World) -> Iterator[tuple[str, str]]:
    """The same caller, key and body are the same job; another body is a conflict."""
    made: dict[str, list[str]] = defaultdict(list)
    for job in world.history.rows:
        made[_prompt(world, job)].append(job)
    for prompt in world.callers.prompts_with_key:
        if len(made[prompt]) > 1:
            yield made[prompt][1], f"<{prompt}> was submitted with a key and became {len(made[prompt])} jobs"
        if made[f"other {prompt}"] and made[prompt]:
            yield made[prompt][0], "its key was taken for another body, too"
    for exchange in world.history.exchanges:
        if exchange.key and exchange.shown and _prompt(world, exchange.shown["id"]) != exchange.prompt:
            yield exchange.shown["id"], f"{_when(exchange.ended_at)} given to a caller for <{exchange.prompt}>"


@invariant
def i8_slots_equal_unfinished_work(world: World) -> Iterator[tuple[str, str]]:
    """After every single commit an owner's count is the number of jobs that hold a slot; at last that is none."""
    for story in world.history.slot_mismatches[:5]:
        yield "", story
    for owner, taken in world.history.slots.items():
        if taken:
            yield "", f"owner {owner} counts {taken} slots at the end"


@invariant
def i8_a_cancelled_job_keeps_its_slot_while_it_runs(world: World) -> Iterator[tuple[str, str]]:
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
                yield job, f"{_when(freed_at)} its slot was freed; the model worked on it until {_when(ended)}"


@invariant
def i8_nobody_goes_past_a_limit(world: World) -> Iterator[tuple[str, str]]:
    """Neither an owner's open jobs nor the callers that are held at once."""
    for write in world.history.writes_of_others:
        item = write.new or {}
        if write.pk.startswith("waiting#") and int(item.get("waiting", {"N": "0"})["N"]) > world.trial.max_waiting:
            yield "", f"{_when(write.at)} {item['waiting']['N']} callers were admitted to {write.pk}"
        if "open" in item and not 0 <= int(item["open"]["N"]) <= world.trial.open_jobs:
            yield "", f"{_when(write.at)} {write.pk} has {item['open']['N']} open jobs"


@invariant
def i8_accepted_is_open_and_ended(world: World) -> Iterator[tuple[str, str]]:
    """Every row was accepted once and is counted once, by the app's own metrics as by the table."""
    ended = sum(world.history.end_of(job) is not None for job in world.history.rows)
    counted = world.log.metrics["JobsEnded"]
    if counted > ended:
        yield "", f"{counted} ends were counted, {ended} happened"
    if world.log.metrics["JobsAccepted"] > len(world.history.rows):
        yield "", f"{world.log.metrics['JobsAccepted']} jobs were counted, {len(world.history.rows)} accepted"


@invariant
def i9_every_claim_precedes_its_invocation(world: World) -> Iterator[tuple[str, str]]:
    """When the model begins, the row has claimed just that attempt; no claim is used twice; three attempts at most."""
    used: Counter[tuple[str, int]] = Counter()
    asked = [(request.received_at, request.job, request.attempt) for request in world.requests]
    asked += [(run.started_at, run.job, run.attempt) for run in world.model.runs if not world.requests]
    for at, job, attempt in asked:
        used[job, attempt] += 1
        row = _row_at(world, job, at)
        if row is None or not row.item or row.number("attempts") < attempt or attempt < 1:
            yield job, f"{_when(at)} attempt {attempt} was invoked without a claim"
        if attempt > 3:
            yield job, f"{_when(at)} attempt {attempt}"
    for (job, attempt), times in used.items():
        if times > 1:
            yield job, f"attempt {attempt} was invoked {times} times"


@invariant
def i10_unknown_ids_create_nothing(world: World) -> Iterator[tuple[str, str]]:
    """Messages about no job of ours leave no item, end in no dead-letter queue, and are counted."""
    for job in world.strange_ids:
        if job in world.history.rows or any(name.startswith(job) for name in world.history.copies):
            yield job, "was created by a message"
    if world.log.metrics["UnknownJobMessages"] < world.strange_messages_delivered:
        counted = world.log.metrics["UnknownJobMessages"]
        yield "", f"{world.strange_messages_delivered} strange messages, {counted} counted"


@invariant
def ends_are_announced(world: World) -> Iterator[tuple[str, str]]:
    """At least once for each job that ended, with its owner and status; never for one that has not ended."""
    told = set()
    for event in world.bus.events:
        job, end = event.detail["id"], world.history.end_of(event.detail["id"])
        told.add(job)
        if end is None or event.at < end.at or event.detail["status"] != SHOWN[end.state]:
            yield job, f"{_when(event.at)} announced as {event.detail['status']}"
        elif event.detail["owner"] != end.text("owner"):
            yield job, "announced for another owner"
    for job in world.history.rows:
        if job not in told:
            yield job, "ended and was never announced"


@invariant
def rows_are_small_and_hold_no_text(world: World) -> Iterator[tuple[str, str]]:
    for job, rows in world.history.rows.items():
        for row in rows:
            if row.size >= MAX_ROW_BYTES:
                yield job, f"{_when(row.at)} its row has {row.size} bytes"
            if CANARY in json.dumps(row.item, default=str):
                yield job, f"{_when(row.at)} its row holds a text"
    for write in world.history.writes_of_others:
        # The model's words about an error are kept for its caller, apart from the row.
        if not write.pk.startswith("error#") and CANARY in json.dumps(write.new, default=str):
            yield "", f"{_when(write.at)} {write.pk} holds a text"


@invariant
def texts_stay_out_of_logs_and_events(world: World) -> Iterator[tuple[str, str]]:
    for text in world.log.leaks[:5]:
        yield "", f"logged: {text[:200]}"
    for event in world.bus.events:
        if CANARY in json.dumps(event.detail):
            yield event.detail["id"], "its event holds a text"


@invariant
def requests_are_ones_that_aws_takes(world: World) -> Iterator[tuple[str, str]]:
    for story, times in world.faults.invalid_calls.items():
        yield "", f"{times} times: {story}"


def _busy_times(world: World) -> dict[str, list[tuple[float, float]]]:
    """When attempts of a job were with the model, as SageMaker tells: a call that is cut off is over for it."""
    busy: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for request in world.requests:
        busy[request.job].append((request.received_at, request.over_at))
    for run in world.model.runs if not world.requests else []:
        busy[run.job].append((run.started_at, min(run.ended_at, run.started_at + MAX_SECONDS)))
    return busy


def _copies(world: World, job: str, end: Row, attempt: int, body: bytes) -> Iterator[tuple[str, str]]:
    """The copy in the table, as it was from the end on."""
    writes = world.history.copies.get(f"{job}.{attempt}", [])
    before = [item for at, item in writes if at <= end.at]
    later = [item for at, item in writes if at > end.at and item is not None]
    for item in [*before[-1:], *later]:
        if item and bytes(item["body"]["B"]) != body:
            yield job, f"its copy in the table is another text: {bytes(item['body']['B'])[:80]!r}"
    if not before:
        yield job, "has no copy in the table, but its row says so"


def _row_at(world: World, job: str, at: float) -> Row | None:
    rows = [row for row in world.history.rows.get(job, []) if row.at <= at]
    return rows[-1] if rows else None


def _prompt(world: World, job: str) -> str:
    versions = world.bucket.objects.get(f"input/{job}", [])
    return prompt_of(versions[0].body) if versions else ""


def _owners(world: World) -> dict[str, str]:
    """Principals, and the name of each as an owner, by the jobs that they were given."""
    return {
        exchange.principal: world.history.final_row(exchange.shown["id"]).text("owner")
        for exchange in world.history.exchanges
        if exchange.action == "submit" and exchange.shown.get("id") in world.history.rows
    }


def _answer(shown: dict[str, Any]) -> str:
    """Without the parts of a link that are signed anew."""
    answer = {name: shown.get(name) for name in ("status", "output", "output_url", "error", "ended_at")}
    return re.sub(r"X-Amz-[^&]*", "", json.dumps(answer))[:300]


def _when(at: float) -> str:
    return f"t={at - START:.3f}"
