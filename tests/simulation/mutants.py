"""Mutants: shipped functions with a few words of their source replaced. Each breaks an invariant."""

import ast
import inspect
import textwrap
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from inference_api.batches import transitions as batch_transitions
from inference_api.batches.batch import Batch
from inference_api.batches.driver import Driver
from inference_api.batches.lines import Lines
from inference_api.batches.table import BatchTable
from inference_api.http import gateway as http
from inference_api.jobs import recorder, sweeper, view, worker
from inference_api.jobs.backends.async_backend import AsyncBackend
from inference_api.jobs.backends.machine_backend import MachineBackend
from inference_api.jobs.backends.queue_backend import QueueBackend
from inference_api.jobs.long_poll import LongPoll
from inference_api.jobs.service import JobService
from inference_api.jobs.state import files, items, transitions
from inference_api.jobs.state.completion import Completion
from inference_api.jobs.state.files import JobFiles
from inference_api.jobs.state.table import JobTable
from inference_api.jobs.state.waiting_places import WaitingPlaces
from inference_api.jobs.submission import Submission
from inference_api.keys import usage_row
from inference_api.keys.key_usage import KeyUsage
from inference_api.shared import errors
from inference_api.shared.conditional_writes import ConditionalWrites
from inference_api.wake import row as wake_row
from inference_api.wake.row import WakeRow
from inference_api.worker import tender_plan
from inference_api.worker.resident_worker import ResidentWorker
from simulation.callers.job_callers import Habits
from simulation.runtime.faults import Rates

ASYNC, REALTIME, EC2 = "async", "realtime", "ec2"
EXISTS, ENDS_IN_TIME = "i1_an_accepted_job_exists", "i1_every_job_ends_in_time"
FINAL, SEEN_FINAL = "i2_an_end_is_final", "i2_callers_see_no_change_after_the_end"
HAS_OUTPUT, PINNED = "i3_a_success_has_its_output", "i3_callers_get_the_pinned_output"
NO_BAD_END, EXPIRES_LATE = "i4_a_job_with_an_output_never_fails", "i4_only_the_deadline_expires"
REFUSED = "i4_refused_prompts_fail_and_others_are_never_refused"
KEPT, GONE = "i5_nothing_is_deleted_before_its_time", "texts_go_with_their_row"
OWNER_CANCELS, OWNER_SEES = "i6_only_the_owner_cancels", "i6_only_the_owner_sees_a_job"
LASTING = "i6_owner_and_input_never_change"
ONE_JOB = "i7_a_key_makes_one_job"
SLOTS, KEEPS_SLOT = "i8_slots_equal_unfinished_work", "i8_a_cancelled_job_keeps_its_slot_while_it_runs"
LIMITED, COUNTED = "i8_no_limit_is_passed", "i8_metrics_count_each_job_once"
CLAIMED = "i9_every_claim_precedes_its_invocation"
UNKNOWN_IDS = "i10_unknown_ids_create_nothing"
ANNOUNCED, ROWS = "ends_are_announced", "rows_are_small_and_hold_no_text"
IN_TIME = "callers_are_answered_in_time"
STOPS, STARTS = "i11_no_machine_runs_without_work", "i11_waiting_work_gets_a_machine"
ONCE, AT_REST = "i11_no_job_is_worked_on_twice_at_once", "i11_machines_stop_at_rest"
LOGS, VALID = "texts_stay_out_of_logs_and_events", "requests_are_valid"

CHARGED, COUNTED_ONCE = "i12_charged_is_counted_and_open", "i12_an_account_counts_each_job_once"
CHARGE_ENDS = "i12_every_charge_ends"
NOTHING_BEGUN = "a_batch_that_is_cancelled_while_it_is_validated_has_begun_nothing"
BATCHES_END, ONE_RESULT = "batches_end", "each_line_of_a_batch_has_one_result_in_order"
RIGHT_RESULT, COUNTS_GROW = "results_of_a_batch_answer_their_lines", "counts_of_a_batch_never_go_back"
RIGHT_LINE, ONE_BATCH = "the_model_is_asked_for_lines_of_batches_only", "an_idempotency_key_makes_one_batch"
ASKED_ONCE, WAKE_BUDGET = "w1_a_copy_is_asked_for_once_a_minute", "w1_no_day_has_more_wakes_than_its_budget"

# Settings of trials.
HEALTHY: dict[str, Any] = {"rates": Rates(), "habits": Habits(listed=0.5, key_with_other_body=0.5)}
MODEL_ERRORS: dict[str, Any] = {"rates": Rates(unknown_outcome=0.2, model_error=0.4)}
BROKEN_OUTPUTS: dict[str, Any] = {"rates": Rates(broken_output=1.0)}
NAMED_BY_SAGEMAKER: dict[str, Any] = {"rates": Rates(lost_message=1.0), "composition": "behind the name"}
REFUSED_EVENTS: dict[str, Any] = {"rates": Rates(event_refused=0.3)}
LOST_ANSWERS: dict[str, Any] = {"rates": Rates(unknown_outcome=0.3)}
THROTTLED: dict[str, Any] = {"rates": Rates(throttle=0.7), "habits": Habits(waiting=0), "answer_within": 10}
LOST_MESSAGES: dict[str, Any] = {"rates": Rates(crash=0.1, lost_message=1.0), "jobs": 30}
SLOW_MODEL: dict[str, Any] = {"rates": Rates(), "habits": Habits(intruded=1.0), "median": 60.0, "longest": 120.0}
FEW_PLACES: dict[str, Any] = {"rates": Rates(), "owners": 2, "max_waiting": 4, "habits": Habits(waiting=1.0)}
FEW_SLOTS: dict[str, Any] = {"rates": Rates(), "owners": 2, "open_jobs": 10}
PAST_RETENTION: dict[str, Any] = {"rates": Rates(), "after_retention": True, "jobs": 30}
HANGING_BOOTS: dict[str, Any] = {"rates": Rates(boot_hangs=0.5), "arrivals": 2400}
LONG_JOBS: dict[str, Any] = {"rates": Rates(), "median": 200.0, "longest": 280.0, "jobs": 20}
REPLACED: dict[str, Any] = LONG_JOBS | {"rates": Rates(machine_replaced=0.3), "startup": 240}
BATCHES: dict[str, Any] = {"rates": Rates(), "jobs": 1, "batches": 2, "batch_lines": 60}
REPEATED_BATCHES: dict[str, Any] = {
    "rates": Rates(crash=0.3),
    "faulty_functions": ("batches",),
    "jobs": 1,
    "batches": 5,
    "batch_lines": 2,
}
SLOW_BATCHES: dict[str, Any] = BATCHES | {"median": 40.0, "longest": 45.0, "capacity": 4}
CALLS: dict[str, Any] = {"rates": Rates(unknown_outcome=0.3, death_in_stream=0.2), "calls": 60, "jobs": 1}
SLEEPING: dict[str, Any] = {
    "rates": Rates(scale_in=0.05, failed_start=0.3),
    "asleep_after": 60.0,
    "wakes_per_day": 4,
    "calls": 20,
    "jobs": 40,
    "arrivals": 1500,
}
CONFUSED_WORKERS: dict[str, Any] = {
    "rates": Rates(unknown_outcome=0.3, throttle=0.4, duplicate_message=1.0),
    "faulty_functions": ("run_job",),
    "habits": Habits.only_submit(),
    "median": 20.0,
    "jobs": 120,
}


class Mutant(NamedTuple):
    """`new` stands in place of `old` in the code of `function`.

    old: words of the code as `ast.unparse` writes it, so that comments, docstrings, quotes and line breaks do not
    matter.
    breaks: an invariant. trial: settings of a trial that finds the mutant. attempts (of each job) and at_once
    (functions): limits of an exploration that finds it.
    """

    name: str
    breaks: str
    function: Callable[..., Any]
    old: str
    new: str
    mode: str = ASYNC
    trial: dict[str, Any] = HEALTHY
    attempts: int = 2
    at_once: int = 1

    def plant(self, patch: pytest.MonkeyPatch) -> None:
        """Replace the function's code, wherever the function has been imported."""
        code = _plain_code(self.function)
        assert code.count(self.old) == 1, f"{self.old!r} must stand once in this code:\n{code}"
        changed: dict[str, Any] = {}
        exec(code.replace(self.old, self.new), self.function.__globals__, changed)
        patch.setattr(self.function, "__code__", changed[self.function.__name__].__code__)

    def __str__(self) -> str:
        return f"{self.mode}: {self.name}"


def _plain_code(function: Callable[..., Any]) -> str:
    """Return the function's code without a docstring, as `ast.unparse` writes it."""
    (tree,) = ast.parse(textwrap.dedent(inspect.getsource(function))).body
    assert isinstance(tree, ast.FunctionDef)
    if ast.get_docstring(tree):
        del tree.body[0]
    return ast.unparse(tree)


EXPLORED = [
    Mutant("lost messages stay lost", ENDS_IN_TIME, QueueBackend.tend, "or self._is_empty()", "", REALTIME),
    Mutant("attempts have no limit", CLAIMED, transitions.claim, "or job.attempts >= MAX_ATTEMPTS ", "", attempts=1),
    Mutant("claims come too late", NO_BAD_END, transitions.claim, " or (now > times.latest_start(job.deadline))", ""),
    Mutant("leases are ignored", ENDS_IN_TIME, transitions.claim, "now < job.lease_until or ", "", at_once=2),
    Mutant("confirmed attempts are lost", CLAIMED, transitions.claim, " or job.marked == job.attempts", ""),
    Mutant(
        "an older attempt bars the next", ENDS_IN_TIME, transitions.claim, " and (not newest_has_ended)", "", attempts=3
    ),
    Mutant(
        "giving back concludes nothing",
        ENDS_IN_TIME,
        transitions.give_back,
        "return _conclude(_settle(replace(job, attempts=attempt - 1, lease_until=0), now), now, times)",
        "return _settle(replace(job, attempts=attempt - 1, lease_until=0), now)",
        at_once=2,
    ),
    Mutant(
        "refusals are forgotten",
        ENDS_IN_TIME,
        transitions.fail_attempt,
        "job.refused or refused",
        "refused",
        attempts=3,
    ),
    Mutant("refusals conclude nothing", ENDS_IN_TIME, transitions._conclude, "job.refused or ", ""),
    Mutant("a job fails while an attempt runs", ENDS_IN_TIME, transitions._conclude, "or job.may_be_running ", ""),
    Mutant("a job fails early", ENDS_IN_TIME, transitions._conclude, ">= MAX_ATTEMPTS", ">= MAX_ATTEMPTS - 1"),
    Mutant("outputs change the end", FINAL, transitions.succeed, "if job.is_open", "if True"),
    Mutant("cancelling changes the end", FINAL, transitions.cancel, "if not job.is_open", "if False"),
    Mutant("success keeps the slot", SLOTS, transitions.succeed, ", holds_slot=False", ""),
    Mutant(
        "cancelling frees the slot", KEEPS_SLOT, transitions.cancel, "holds_slot=job.may_be_running", "holds_slot=False"
    ),
    Mutant("cancelling keeps the slot", SLOTS, transitions.cancel, ", holds_slot=job.may_be_running", ""),
    Mutant("any end frees the slot", KEEPS_SLOT, transitions._settle, "job if job.may_be_running else _rest", "_rest"),
    Mutant(
        "jobs with an error expire",
        EXPIRES_LATE,
        transitions.expire,
        "FAILED if job.error_code else EXPIRED",
        "EXPIRED",
    ),
    Mutant(
        "the deadline frees no slot",
        ENDS_IN_TIME,
        transitions.expire,
        "_rest(replace(job, holds_slot=False)) if job.holds_slot else None",
        "None",
    ),
    Mutant("rest with a slot", ENDS_IN_TIME, transitions._rest, " and (not job.holds_slot)", ""),
    Mutant("rest before the announcement", ENDS_IN_TIME, transitions._rest, "job.announced and ", ""),
    Mutant("cancelled rows go early", KEPT, transitions._ended, "job.deadline if state == CANCELLED else now", "now"),
    Mutant(
        "rows may go from acceptance on",
        KEPT,
        transitions.accept,
        "version=1",
        "version=1, expires_at=int(now) + times.retention",
    ),
    Mutant(
        "writes have no condition",
        FINAL,
        ConditionalWrites.put,
        "put | ({'ExpressionAttributeValues': values} if values else {})",
        "{'TableName': self._table, 'Item': item}",
        REALTIME,
        at_once=2,
    ),
    Mutant(
        "a worker claims nothing",
        CLAIMED,
        worker._claim,
        "transitions.claim(job, runtime().now(), job_settings().times)",
        "transitions.replace(job, sent_at=0)",
        REALTIME,
    ),
    Mutant("a submission claims nothing", CLAIMED, AsyncBackend.claim_at_acceptance, "self._claim(job) or job", "job"),
    Mutant(
        "the row comes after the answer",
        EXISTS,
        JobTable.add,
        "self._writes.together(list(writes.values()), token=self._runtime.new_id())",
        "[]",
        REALTIME,
    ),
    Mutant("the sweeper does nothing", ENDS_IN_TIME, sweeper.sweep, "lambda _: may_go_on()", "lambda _: False"),
    Mutant(
        "the sweeper ignores the bucket",
        NO_BAD_END,
        sweeper._take_results,
        "not (job.is_open or job.holds_slot)",
        "True",
    ),
    Mutant(
        "the sweeper expires all it sees",
        EXPIRES_LATE,
        sweeper._look,
        "_take_results(job, started, service)",
        "service.completion._change("
        "job, lambda row: transitions.expire(row, row.deadline, service.completion._times))[0]",
    ),
    Mutant(
        "a machine looks once more before it says that it stops",
        STARTS,
        ResidentWorker._stop,
        "self._beat(STOPPING)\n    if not (messages := self._receive(self.batch)):",
        "if not (messages := self._receive(self.batch)):\n        self._beat(STOPPING)",
        EC2,
        at_once=2,
    ),
    Mutant(
        "a sender looks for a machine before it sends",
        STARTS,
        MachineBackend.dispatch,
        "self._hand_over(job)\n    self._starter.wake()",
        "self._starter.wake()\n    self._hand_over(job)",
        EC2,
        at_once=2,
    ),
    Mutant("a sender wakes no machine", STARTS, MachineBackend.dispatch, "self._starter.wake()", "pass", EC2),
    Mutant("machines never stop themselves", STOPS, ResidentWorker._turn, "return self._stop()", "return False", EC2),
    Mutant("the tender starts nothing", ENDS_IN_TIME, tender_plan.plan, "stopped[:1] if more else []", "[]", EC2),
]
TRIED = [
    Mutant(
        "boots that hang go on for ever",
        STOPS,
        tender_plan._problem,
        "'its worker never began' if now - instance.launched_at > limits.boot else None",
        "None",
        EC2,
        HANGING_BOOTS,
    ),
    Mutant(
        "leases are not renewed",
        ONCE,
        ResidentWorker._renew,
        "transitions.renew(row, job, self.runtime.now())",
        "None",
        EC2,
        LONG_JOBS,
    ),
    Mutant(
        "the tender stops machines that an update has replaced",
        AT_REST,
        tender_plan.plan,
        "_stays(instance, last_end, now) if last_end else",
        "",
        EC2,
        REPLACED,
    ),
    Mutant(
        "the tender stops busy machines",
        AT_REST,
        tender_plan.plan,
        "_is_forgotten(instance, row, work, limits, now)",
        "row and row.state == 'busy'",
        EC2,
        LONG_JOBS,
    ),
    Mutant(
        "a claim is given back although the call may have run",
        CLAIMED,
        AsyncBackend.dispatch,
        "_never_ran(error)",
        "True",
        trial=LOST_ANSWERS,
    ),
    Mutant(
        "another's claim is given back",
        CLAIMED,
        Completion.give_back,
        "row.attempts == attempt and row.claimed_at != job.claimed_at",
        "False",
        REALTIME,
        CONFUSED_WORKERS,
    ),
    Mutant(
        "the first error is final",
        NO_BAD_END,
        transitions.fail_attempt,
        "_conclude(changed, now, times)",
        "replace(_ended(changed, FAILED, now, times), holds_slot=False)",
        trial=MODEL_ERRORS,
    ),
    Mutant(
        "the endpoint's own word on its outputs is dropped",
        NO_BAD_END,
        JobFiles.find_output,
        "job.output_key and",
        "False and",
        trial=NAMED_BY_SAGEMAKER,
    ),
    Mutant(
        "a late job is put off for long",
        ENDS_IN_TIME,
        transitions.look_again,
        "due_at=now + FIRST_LOOK_IN_SECONDS",
        "due_at=now + 900",
        REALTIME,
        LOST_MESSAGES,
    ),
    Mutant(
        "sessions are taken for owners",
        EXISTS,
        http._caller,
        "{identity['caller'].partition(':')[0]}",
        "{identity['caller']}",
        REALTIME,
    ),
    Mutant(
        "rows vanish an hour early",
        EXISTS,
        JobTable._alive,
        "job.expires_at <=",
        "job.expires_at - 5400 <=",
        REALTIME,
        PAST_RETENTION,
    ),
    Mutant(
        "each reader gets another output",
        SEEN_FINAL,
        view._value,
        "text = answer.body.decode(errors='replace')",
        "from inference_api.shared.runtime import runtime\n    return runtime().now()",
    ),
    Mutant(
        "the newest output is shown",
        PINNED,
        JobService.read_answer,
        "(table.get_answer(job, output) if output.in_table else None)",
        "files._open(output.key, output.attempt)[1]",
        trial=BROKEN_OUTPUTS,
    ),
    Mutant("the pin has no version", HAS_OUTPUT, files._pinned, "version.get('VersionId', 'null')", "'latest'"),
    Mutant(
        "the model gets another prompt",
        HAS_OUTPUT,
        worker._ask,
        "model.invoke(body, segment)",
        """model.invoke(b'{"inputs": "another"}', segment)""",
        REALTIME,
    ),
    Mutant(
        "the table gets no copy", HAS_OUTPUT, Completion.succeed, "answer and output.in_table and job.is_open", "False"
    ),
    Mutant(
        "every error is a refusal",
        REFUSED,
        errors.container_error,
        "status and 400 <= status < 500 and (status not in _NOT_ABOUT_THE_REQUEST)",
        "True",
        trial=MODEL_ERRORS,
    ),
    Mutant(
        "copies go before their row",
        KEPT,
        Completion.succeed,
        "answer, kept_until",
        "answer, kept_until - 600",
    ),
    Mutant(
        "copies outlive their row",
        GONE,
        Completion.succeed,
        "answer, kept_until",
        "answer, kept_until + 86_400",
    ),
    Mutant(
        "errors outlive their row",
        GONE,
        JobTable._write,
        "for attempt in sorted(wanted.ended)",
        "for attempt in []",
        REALTIME,
        MODEL_ERRORS,
    ),
    Mutant(
        "owners are not compared",
        OWNER_CANCELS,
        LongPoll.find,
        " or not compare_digest(job.owner, owner)",
        "",
        REALTIME,
        SLOW_MODEL,
    ),
    Mutant(
        "lists hold everybody's jobs",
        OWNER_SEES,
        JobTable.jobs_of,
        "[job for job in jobs if job.owner == owner and self._alive(job)]",
        "self.get_all([job for shard in range(8) for _, job in self.due(shard, 3600)][:limit]).values()",
        REALTIME,
    ),
    Mutant(
        "malformed ids are answered differently",
        OWNER_SEES,
        LongPoll.find,
        "errors.job_not_found()",
        'errors.job_not_found() if is_job_id(job_id) else errors.job_ended("never")',
        REALTIME,
    ),
    Mutant(
        "the deadline moves",
        LASTING,
        transitions.note_sent,
        "sent_at=now",
        "sent_at=now, deadline=job.deadline + 60",
        REALTIME,
    ),
    Mutant("keys are not kept", ONE_JOB, JobTable.add, "if reservation", "if False", REALTIME),
    Mutant(
        "keys ignore the body", ONE_JOB, Submission._earlier, "accepted.fingerprint != fingerprint", "False", REALTIME
    ),
    Mutant("slots are never freed", SLOTS, ConditionalWrites.add, "str(amount)", "str(max(amount, 0))", REALTIME),
    Mutant("limits are not asked for", LIMITED, ConditionalWrites.add, "most is not None", "False", trial=FEW_SLOTS),
    Mutant(
        "one caller takes all places",
        LIMITED,
        WaitingPlaces._add,
        "ceil(self._most / 2)",
        "self._most",
        REALTIME,
        FEW_PLACES,
    ),
    Mutant("ends are counted twice", COUNTED, Completion._count, "'JobsEnded': 1", "'JobsEnded': 2", REALTIME),
    Mutant(
        "a notification creates an item",
        UNKNOWN_IDS,
        recorder.record,
        "if job is None",
        "if job is None and service.table._client.put_item("
        'TableName=service.table._name, Item={"pk": {"S": f"error#{notification.job_id}"}})',
    ),
    Mutant(
        "unknown ids are not counted",
        UNKNOWN_IDS,
        worker._work,
        "emit(job_settings().deployment, runtime().now(), {'UnknownJobMessages': 1})",
        "pass",
        REALTIME,
    ),
    Mutant(
        "any text is taken for a job's id",
        UNKNOWN_IDS,
        worker._read,
        "is_job_id(job_id) and ",
        "",
        REALTIME,
    ),
    Mutant(
        "ends are noted, not announced",
        ANNOUNCED,
        Completion.announce,
        "self._events.put_events(Entries=[entry])['FailedEntryCount']",
        "False",
    ),
    Mutant(
        "refused events count as announced",
        ANNOUNCED,
        Completion.announce,
        "['FailedEntryCount']",
        " is None",
        trial=REFUSED_EVENTS,
    ),
    Mutant(
        "a row holds the words of an error",
        ROWS,
        Completion.fail_attempt,
        "failure.code",
        "failure.message",
        trial=MODEL_ERRORS,
    ),
    Mutant("rows grow", ROWS, items.to_item, "return item", 'return item | {"notes": {"S": "x" * 800}}'),
    Mutant(
        "functions try until they are killed", IN_TIME, http._limit_time, "if remaining", "if False", ASYNC, THROTTLED
    ),
    Mutant(
        "the model's words are logged",
        LOGS,
        errors.container_error,
        "cause = f'container {status}'",
        "cause = print(words)",
        trial=MODEL_ERRORS,
    ),
    Mutant(
        "an expression has a reserved word",
        VALID,
        ConditionalWrites.add,
        "'ADD #counter :amount'",
        "f'ADD {name} :amount'",
        REALTIME,
    ),
    Mutant(
        "a repeated request begins a second batch",
        ONE_BATCH,
        BatchTable.reserve_batch_id,
        "return str(earlier['batch_id']['S']) if earlier else batch_id",
        "return batch_id",
        trial=REPEATED_BATCHES,
    ),
    Mutant(
        "a batch is never finalized",
        BATCHES_END,
        batch_transitions.finalize,
        "!= IN_PROGRESS",
        "== IN_PROGRESS",
        trial=BATCHES,
    ),
    Mutant(
        "results of a batch are read backwards",
        ONE_RESULT,
        Driver._results,
        "for line in lines]",
        "for line in reversed(lines)]",
        trial=BATCHES,
    ),
    Mutant(
        "a batch has no lines",
        NOTHING_BEGUN,
        batch_transitions.start,
        "lines=lines, ",
        "",
        trial=BATCHES,
    ),
    Mutant("results have another line's name", RIGHT_RESULT, Lines._line, "line.custom_id", '"line 0"', trial=BATCHES),
    Mutant(
        "lines of open blocks count twice",
        COUNTS_GROW,
        Batch.view,
        "*self.seen.values()]",
        "*self.seen.values(), *self.seen.values()]",
        trial=SLOW_BATCHES,
    ),
    Mutant(
        "a submission is charged before it is accepted",
        CHARGED,
        Submission._add,
        "partial(self._table.add, job, owner_charge, reservation)",
        "lambda update: (self._usage._write(update), self._table.add(job, owner_charge, reservation))",
        trial=LOST_ANSWERS,
    ),
    Mutant(
        "a repeated count counts again",
        CHARGED,
        usage_row._end,
        "filter(None, ('attribute_exists(#charge)', condition))",
        "filter(None, [condition])",
        REALTIME,
        CALLS,
    ),
    Mutant(
        "a job is charged by the tokens of its answer alone",
        CHARGED,
        KeyUsage.settlements,
        "tokens_in + tokens_out - charge.tokens",
        "tokens_out - charge.tokens",
    ),
    Mutant(
        "failed jobs are no errors",
        COUNTED_ONCE,
        Completion._account,
        "failed=job.state in (FAILED, EXPIRED)",
        "failed=False",
        trial=MODEL_ERRORS,
    ),
    Mutant(
        "the calls of functions that died are forgotten",
        CHARGE_ENDS,
        usage_row.abandoned,
        "value in row.items()",
        "value in ()",
        REALTIME,
        CALLS,
    ),
    Mutant("asks are not noted", ASKED_ONCE, wake_row.asked, "asked_at=now", "asked_at=0", REALTIME, SLEEPING),
    Mutant(
        "wakes have no budget",
        WAKE_BUDGET,
        WakeRow.has_asks_left,
        "self.asks < asks_per_day",
        "True",
        REALTIME,
        SLEEPING,
    ),
    Mutant(
        "a line runs with another prompt",
        RIGHT_LINE,
        Lines.exchange_of,
        "line.body,",
        '{**line.body, "prompt": "batch of nobody"},',
        trial=BATCHES,
    ),
]
