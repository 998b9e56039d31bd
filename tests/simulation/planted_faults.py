"""Faults to plant in the handlers, one function each, and the invariants of which one at least has to break."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import pytest

from inference_api import errors, http, metrics
from inference_api.answer import Answer
from inference_api.jobs import (
    async_backend,
    completion,
    conditional_writes,
    files,
    items,
    long_poll,
    recorder,
    service,
    submission,
    sweeper,
    table,
    transitions,
    view,
    worker,
)
from simulation.callers import Habits
from simulation.faults import Rates
from simulation.model import CANARY

Plant = Callable[[pytest.MonkeyPatch], None]
QUIET = Rates()
LOSSY = Rates(lost_message=0.3)


class Fault(NamedTuple):
    """What is planted, under which conditions, and the invariants of which one at least has to break."""

    plant: Plant
    trial: dict[str, Any]
    breaks: set[str]
    orders: bool


FAULTS: dict[str, Fault] = {}


def fault(*breaks: str, orders: bool = False, **trial: Any) -> Callable[[Plant], Plant]:
    """orders: the exploration finds it; otherwise it takes a trial."""

    def register(plant: Plant) -> Plant:
        FAULTS[plant.__name__] = Fault(plant, trial, set(breaks), orders)
        return plant

    return register


@fault(
    "i2_an_end_is_final",
    "i8_slots_equal_unfinished_work",
    orders=True,
    mode="realtime",
    rates=Rates(duplicate_message=1.0, unknown_outcome=0.2),
    habits=Habits(cancelled=0.5),
)
def writes_without_a_condition(patch: pytest.MonkeyPatch) -> None:
    def put(self: Any, item: Any, condition: str, values: Any = None) -> Any:
        return {"Put": {"TableName": self._table, "Item": item}}

    patch.setattr(conditional_writes.ConditionalWrites, "put", put)


@fault("i9_every_claim_precedes_its_invocation", orders=True, mode="realtime", rates=QUIET)
def a_worker_that_invokes_without_a_claim(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(worker, "_claim", lambda job: replace(job, sent=False))


@fault("i9_every_claim_precedes_its_invocation", orders=True, mode="async", rates=QUIET)
def a_submission_that_invokes_without_a_claim(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(async_backend.AsyncBackend, "claim_at_acceptance", lambda self, job: job)


@fault("i9_every_claim_precedes_its_invocation", mode="async", rates=Rates(unknown_outcome=0.3))
def a_claim_given_back_though_the_call_may_have_run(patch: pytest.MonkeyPatch) -> None:
    original = async_backend.AsyncBackend.dispatch

    def dispatch(self: Any, job: Any) -> None:
        original(self, job)
        row = self._table.get(job.id)
        if row and row.marked != job.attempts:
            self._completion.give_back(job, job.attempts)

    patch.setattr(async_backend.AsyncBackend, "dispatch", dispatch)


@fault(
    "i9_every_claim_precedes_its_invocation",
    mode="realtime",
    rates=Rates(unknown_outcome=0.3, throttle=0.4, duplicate_message=1.0),
    faulty_functions=("run_job",),
    habits=Habits.of_nobody(),
    median=20.0,
)
def a_claim_given_back_by_who_no_longer_holds_it(patch: pytest.MonkeyPatch) -> None:
    def give_back(self: Any, job: Any, attempt: int) -> Any:
        now, policy = self._runtime.now, self._policy
        return self._change(job, lambda row: transitions.give_back(row, attempt, now(), policy))[0]

    patch.setattr(completion.Completion, "give_back", give_back)


@fault("i4_nothing_ends_badly_that_has_an_output", mode="async", rates=Rates(unknown_outcome=0.2, model_error=0.4))
def the_first_error_is_final_while_another_attempt_runs(patch: pytest.MonkeyPatch) -> None:
    def fail_attempt(job: Any, attempt: int, code: str, now: float, policy: Any, *, refused: bool = False) -> Any:
        failed = replace(job, error_code=code, error_attempt=attempt)
        return replace(transitions._ended(failed, "FAILED", now, policy), holds_slot=False) if job.is_open else None

    patch.setattr(transitions, "fail_attempt", fail_attempt)


@fault("i4_only_the_deadline_expires", orders=True, mode="async", rates=LOSSY)
def an_expiry_before_the_deadline(patch: pytest.MonkeyPatch) -> None:
    def look_at(job_id: str, service: Any) -> None:
        job = service.table.get(job_id)
        early = replace(service.completion._policy)
        if job and job.is_open:
            service.completion._change(
                job, lambda row: replace(transitions._ended(row, "EXPIRED", job.due_at, early), holds_slot=False)
            )

    patch.setattr(sweeper, "look_at", look_at)


@fault("i4_nothing_ends_badly_that_has_an_output", orders=True, mode="async", rates=LOSSY)
def a_sweeper_that_does_not_look_into_the_bucket(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(sweeper, "_take_results", lambda job, *_: job)


@fault("i1_every_job_ends_in_time", orders=True, mode="async", rates=LOSSY)
def no_sweeper(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(sweeper, "_due", lambda service: iter(()))


@fault("i1_every_job_ends_in_time", mode="realtime", rates=Rates(crash=0.1, lost_message=1.0), jobs=30)
def a_late_job_put_off_for_long_by_who_dies_before_its_end(patch: pytest.MonkeyPatch) -> None:
    original = transitions.look_again

    def look_again(job: Any, now: float) -> Any:
        again = original(job, now)
        return replace(again, due_at=now + 900) if again and now >= job.deadline else again

    patch.setattr(transitions, "look_again", look_again)


@fault("i1_an_accepted_job_exists", orders=True, mode="realtime", rates=QUIET)
def an_answer_before_the_row(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(table.JobTable, "add", lambda self, job, charge, reservation: None)


@fault("i1_an_accepted_job_exists", mode="realtime", rates=QUIET)
def owners_told_apart_by_their_session(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(http, "_caller", lambda identity: identity["caller"].replace(":", "-"))


@fault("i1_an_accepted_job_exists", mode="realtime", rates=Rates(), after_retention=True, jobs=30)
def rows_that_are_gone_an_hour_early(patch: pytest.MonkeyPatch) -> None:
    def alive(self: Any, job: Any) -> Any:
        return None if job and job.expires_at and job.expires_at - 5400 <= self._runtime.now() else job

    patch.setattr(table.JobTable, "_alive", alive)


@fault("i2_callers_see_no_change_after_the_end", "i3_callers_get_the_pinned_output", mode="async", rates=QUIET)
def an_output_that_is_told_differently_each_time(patch: pytest.MonkeyPatch) -> None:
    told = iter(range(10_000))
    patch.setattr(view, "_value", lambda answer: next(told))


@fault("i3_callers_get_the_pinned_output", mode="async", rates=Rates(broken_output=1.0))
def an_output_that_is_not_pinned(patch: pytest.MonkeyPatch) -> None:
    def read_answer(self: Any, _: Any, output: Any) -> Any:
        found = self.files._get(output.key)
        return Answer(found["Body"].read(), output.content_type)

    patch.setattr(service.JobService, "read_answer", read_answer)


@fault("i3_a_success_has_its_output", mode="async", rates=QUIET)
def a_pin_without_its_version(patch: pytest.MonkeyPatch) -> None:
    original = files._pinned

    def pinned(*found: Any) -> Any:
        return original(*found)._replace(version_id="latest")

    patch.setattr(files, "_pinned", pinned)


@fault("i3_a_success_has_its_output", mode="realtime", rates=QUIET)
def an_answer_to_somebody_elses_prompt(patch: pytest.MonkeyPatch) -> None:
    original, earlier = worker._ask, []

    def ask(job: Any, body: bytes, *more: Any) -> None:
        earlier.append(body)
        original(job, earlier[0], *more)

    patch.setattr(worker, "_ask", ask)


@fault("i3_a_success_has_its_output", mode="async", rates=QUIET)
def a_row_that_points_to_a_copy_nobody_made(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(table.JobTable, "put_answer", lambda *_: None)


@fault("i4_refused_prompts_fail_and_others_are_never_refused", mode="async", rates=Rates(model_error=0.3))
def every_error_taken_for_a_refusal(patch: pytest.MonkeyPatch) -> None:
    original = errors.container_error
    patch.setattr(errors, "container_error", lambda status, words: original(400, words))


@fault("i5_nothing_is_deleted_before_its_time", mode="async", rates=QUIET)
def a_time_to_live_from_acceptance_on(patch: pytest.MonkeyPatch) -> None:
    original = transitions.accept

    def accept(job_id: str, owner: str, now: float, policy: Any) -> Any:
        return replace(original(job_id, owner, now, policy), expires_at=int(now) + policy.retention)

    patch.setattr(transitions, "accept", accept)
    patch.setattr(submission, "accept", accept)


@fault("i5_nothing_is_deleted_before_its_time", mode="async", rates=QUIET)
def copies_that_go_before_their_row(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(completion.Completion, "_result_expires_at", lambda self, job: int(job.accepted_at) + 60)


@fault("i6_only_the_owner_sees_a_job", "i6_only_the_owner_cancels", mode="realtime", rates=QUIET)
def no_check_of_the_owner(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(long_poll, "compare_digest", lambda owner, caller: True)


@fault("i6_only_the_owner_sees_a_job", mode="realtime", rates=QUIET, habits=Habits(listed=0.5))
def a_list_of_everybodys_jobs(patch: pytest.MonkeyPatch) -> None:
    def jobs_of(self: Any, owner: str, limit: int, after: Any) -> Any:
        everybody = [pk["pk"]["S"] for shard in range(8) for pk in [{"pk": {"S": job}} for job in self.due(shard)]]
        return [self.get(job) for job in everybody[:limit]], None

    patch.setattr(table.JobTable, "jobs_of", jobs_of)


@fault("i6_only_the_owner_sees_a_job", mode="realtime", rates=QUIET)
def a_malformed_id_that_is_answered_differently(patch: pytest.MonkeyPatch) -> None:
    original = long_poll.LongPoll.find

    def find(self: Any, job_id: str, owner: str) -> Any:
        if len(job_id) != 32:
            raise errors.ApiError(400, "malformed_id", "An id has 32 hex characters.")
        return original(self, job_id, owner)

    patch.setattr(long_poll.LongPoll, "find", find)


@fault("i6_owner_and_input_never_change", mode="realtime", rates=QUIET)
def a_deadline_that_moves(patch: pytest.MonkeyPatch) -> None:
    original = transitions.note_sent

    def note_sent(job: Any) -> Any:
        sent = original(job)
        return sent and replace(sent, deadline=sent.deadline + 60)

    patch.setattr(transitions, "note_sent", note_sent)


@fault("i7_a_key_makes_one_job", mode="realtime", rates=QUIET)
def keys_that_are_not_looked_up(patch: pytest.MonkeyPatch) -> None:
    original = table.JobTable.add
    patch.setattr(table.JobTable, "add", lambda self, job, charge, reservation: original(self, job, charge, None))


@fault("i7_a_key_makes_one_job", mode="realtime", rates=QUIET, habits=Habits(key_with_other_body=0.5))
def keys_that_do_not_mind_the_body(patch: pytest.MonkeyPatch) -> None:
    original = submission.Submission._earlier

    def earlier(self: Any, owner: str, key: Any, fingerprint: str) -> Any:
        accepted = self._table.find_key(owner, key) if key else None
        return original(self, owner, key, accepted.fingerprint if accepted else fingerprint)

    patch.setattr(submission.Submission, "_earlier", earlier)


@fault("i8_slots_equal_unfinished_work", mode="realtime", rates=QUIET)
def slots_that_are_never_freed(patch: pytest.MonkeyPatch) -> None:
    original = conditional_writes.ConditionalWrites.add

    def add(self: Any, key: Any, name: str, amount: int, **more: Any) -> Any:
        return original(self, key, name, max(amount, 0), **more)

    patch.setattr(conditional_writes.ConditionalWrites, "add", add)


@fault("i8_a_cancelled_job_keeps_its_slot_while_it_runs", mode="async", rates=QUIET, habits=Habits(cancelled=0.5))
def a_slot_freed_by_cancelling_what_runs(patch: pytest.MonkeyPatch) -> None:
    original = transitions.cancel

    def cancel(job: Any, now: float, policy: Any) -> Any:
        ended = original(job, now, policy)
        return ended and replace(ended, holds_slot=False)

    patch.setattr(transitions, "cancel", cancel)


@fault("i8_nobody_goes_past_a_limit", mode="async", rates=QUIET, owners=2, open_jobs=10)
def a_limit_that_is_not_asked_for(patch: pytest.MonkeyPatch) -> None:
    original = conditional_writes.ConditionalWrites.add

    def add(self: Any, key: Any, name: str, amount: int, *, most: Any = None, expires_at: Any = None) -> Any:
        return original(self, key, name, amount, expires_at=expires_at)

    patch.setattr(conditional_writes.ConditionalWrites, "add", add)


@fault("i8_accepted_is_open_and_ended", mode="realtime", rates=QUIET)
def ends_that_are_counted_twice(patch: pytest.MonkeyPatch) -> None:
    original = completion.Completion._count

    def count(self: Any, job: Any, by_sweeper: bool) -> None:
        original(self, job, by_sweeper)
        original(self, job, by_sweeper)

    patch.setattr(completion.Completion, "_count", count)


@fault("i10_unknown_ids_create_nothing", mode="async", rates=QUIET)
def a_notification_that_creates_what_it_names(patch: pytest.MonkeyPatch) -> None:
    original = recorder.record

    def record(notification: Any, service: Any) -> bool:
        created = transitions.accept(notification.job_id, "", 0, service.completion._policy)
        service.table.put_error(created, notification.attempt, {}, 2_000_000_000)
        return original(notification, service)

    patch.setattr("inference_api.handlers.record_result.record", record)


@fault("i10_unknown_ids_create_nothing", mode="realtime", rates=QUIET)
def strange_messages_that_nobody_counts(patch: pytest.MonkeyPatch) -> None:
    original = metrics.emit

    def emit(deployment: str, now: float, values: Any) -> None:
        original(deployment, now, {name: value for name, value in values.items() if name != "UnknownJobMessages"})

    patch.setattr(worker, "emit", emit)


@fault("ends_are_announced", mode="async", rates=QUIET)
def an_end_that_is_noted_but_not_announced(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(
        completion.Completion, "announce", lambda self, job: self._table.change(job, transitions.note_announced)[0]
    )


@fault("ends_are_announced", mode="async", rates=Rates(event_refused=0.3))
def a_refused_event_taken_for_an_announcement(patch: pytest.MonkeyPatch) -> None:
    original = completion.Completion.announce

    def announce(self: Any, job: Any) -> Any:
        original(self, job)
        return self._table.change(job, transitions.note_announced)[0]

    patch.setattr(completion.Completion, "announce", announce)


@fault("rows_are_small_and_hold_no_text", mode="async", rates=Rates(model_error=0.3))
def a_row_with_the_words_of_an_error(patch: pytest.MonkeyPatch) -> None:
    original = transitions.fail_attempt

    def fail_attempt(job: Any, attempt: int, code: str, *more: Any, **named: Any) -> Any:
        return original(job, attempt, f"model_error: {CANARY}", *more, **named)

    patch.setattr(transitions, "fail_attempt", fail_attempt)


@fault("rows_are_small_and_hold_no_text", mode="async", rates=QUIET)
def a_row_that_grows(patch: pytest.MonkeyPatch) -> None:
    original = items.to_item
    patch.setattr(items, "to_item", lambda job: original(job) | {"notes": {"S": "x" * 800}})


@fault("texts_stay_out_of_logs_and_events", mode="async", rates=Rates(model_error=0.3))
def a_log_of_the_models_words(patch: pytest.MonkeyPatch) -> None:
    original = errors.container_error

    def container_error(status: Any, words: str) -> Any:
        print(json.dumps({"said": words}))
        return original(status, words)

    patch.setattr(errors, "container_error", container_error)


@fault("requests_are_ones_that_aws_takes", mode="realtime", rates=QUIET, jobs=5)
def an_expression_with_a_reserved_word(patch: pytest.MonkeyPatch) -> None:
    original = conditional_writes.ConditionalWrites.add

    def add(self: Any, key: Any, name: str, *amounts: Any, **more: Any) -> Any:
        update = original(self, key, name, *amounts, **more)["Update"]
        for part in ("UpdateExpression", "ConditionExpression"):
            update[part] = update.get(part, "attribute_exists(pk)").replace("#counter", name)
        del update["ExpressionAttributeNames"]
        return {"Update": update}

    patch.setattr(conditional_writes.ConditionalWrites, "add", add)
