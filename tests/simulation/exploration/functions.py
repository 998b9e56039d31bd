"""The shipped handlers as steps: each runs up to its next observable call, one that other functions can notice."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from botocore.exceptions import ClientError, ReadTimeoutError

from inference_api.machines.row import STOPPING, from_item
from simulation.aws.component import NO_CAPACITY
from simulation.aws.ec2 import RUNNING as RUNNING_MACHINE
from simulation.aws.ec2 import STOPPED
from simulation.aws.ec2 import STOPPING as STOPPING_MACHINE
from simulation.aws.errors import Refusal
from simulation.exploration.histories import Histories, Supply
from simulation.exploration.machine_turn import INSTANCE
from simulation.exploration.replay import TURN, Call, Replay, Returned
from simulation.exploration.services import ANSWER, BUCKET, Body, Services, failure_key, output_key
from simulation.exploration.state import OUTPUT, OVER, RUNNING, Attempt, State, Task
from simulation.invariants.changes import (
    Moment,
    broken_by_change,
    broken_by_invocation,
    broken_by_output,
)
from simulation.runtime.model import CANARY

Outcome = tuple[str, State]  # how the call ended, and the state afterwards

RETENTION_IN_SECONDS = 7200
STARTS = "i11_waiting_work_gets_a_machine"
LAUNCHED_AT = 999.0  # before every beat, and never long ago
_READS_OF_TABLE = ("get_item", "batch_get_item", "query")
_READS_OF_BUCKET = ("get_object", "list_objects_v2")
_QUEUE_COUNTS = ("ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible")


class BrokenError(Exception):
    """An invariant does not hold."""

    def __init__(self, invariant: str, story: str) -> None:
        super().__init__(f"{invariant}: {story}")
        self.invariant = invariant


class Functions:
    """The functions. times: the clock in each phase. latest: the latest start of an attempt."""

    def __init__(self, mode: str, services: Services, replay: Replay, times: tuple[float, ...], latest: float) -> None:
        self.mode, self.services, self.times, self._latest = mode, services, times, latest
        self._histories = Histories(replay)

    def start(self, state: State, function: str, event: Any, *, holds: str = "", job: int = 0) -> Iterator[Outcome]:
        """Yield the outcomes of a new run, up to its first observable call."""
        number = self._histories.start(function, event, job, self.times[state.phase], self._supply(state))
        yield from self._go_on(state, Task(number, holds), at_once=function != "submit_job")

    def asks(self, task: Task) -> bool:
        """Whether the task's next call invokes the real-time endpoint."""
        call, _ = self._histories.next_call(task.history)
        return isinstance(call, Call) and call.operation == "invoke_endpoint"

    def attempt_asked_for(self, state: State, task: Task) -> Attempt:
        """Return the job in the worker's message, and its attempt by the table."""
        if self.function_of(task) == TURN:
            job = task.holds
        else:
            job = json.loads(json.loads(self.event_of(task))["Records"][0]["body"])["job"]
        row = self.services.row(state, job)
        return job, row.attempts if row else 0

    def function_of(self, task: Task) -> str:
        return self._histories[task.history].function

    def event_of(self, task: Task) -> str:
        return self._histories[task.history].event

    def name_of(self, task: Task) -> str:
        """Return the names of the function and its next call."""
        call, _ = self._histories.next_call(task.history)
        return f"{self.function_of(task)}: {call.operation if isinstance(call, Call) else 'end'}"

    def outcomes(self, state: State, task: Task) -> Iterator[Outcome]:
        """Yield the outcomes of the task's next call. The task is not in `state`."""
        call, text = self._histories.next_call(task.history)
        assert isinstance(call, Call)
        match call.operation:
            case "put_item" | "update_item" | "transact_write_items":
                yield from self._write(state, task, call, text)
            case "send_message":
                job = json.loads(call.arguments["MessageBody"])["job"]
                yield from self._answered("", state.with_message(job), task, {})
            case "put_object":
                yield from self._store_output(state, task, call)
            case "invoke_endpoint":
                yield from self._invoke(state, task)
            case "invoke_endpoint_async":
                yield from self._invoke_async(state, task, call)
            case "receive_message":
                yield from self._receive(state, task)
            case "delete_message":
                yield from self._answered("", state, task._replace(holds=""), {})
            case "start_instances" | "stop_instances":
                yield from self._ask_ec2(state, task, call)

    def _receive(self, state: State, task: Task) -> Iterator[Outcome]:
        """Receive messages. A long poll finds one if there is one."""
        for job in state.queued:
            message = {
                "MessageId": "1",
                "ReceiptHandle": "1",
                "Body": json.dumps({"job": job, "waits": 0}),
                "Attributes": {"ApproximateReceiveCount": "1"},
            }
            after, holder = state.without_message(job), task._replace(holds=job)
            yield from self._answered(" finds one", after, holder, {"Messages": [message]})
        if not state.queued:
            yield from self._answered(" finds none", state, task, {})

    def _ask_ec2(self, state: State, task: Task, call: Call) -> Iterator[Outcome]:
        changed = {"InstanceId": INSTANCE, "PreviousState": {"Name": state.machine}}
        if call.operation == "stop_instances":
            after = self.down(state) if state.machine == RUNNING_MACHINE else state
            yield from self._answered("", after, task, {"StoppingInstances": [changed]})
        elif state.machine == STOPPING_MACHINE:
            yield from self._answered(" refused", state, task, _refused_start("IncorrectInstanceState"))
        else:
            boots = state.boots or state.machine == STOPPED
            after = state._replace(machine=RUNNING_MACHINE, boots=boots)
            yield from self._answered("", after, task, {"StartingInstances": [changed]})
            if state.machine == STOPPED:
                error = _refused_start("InsufficientInstanceCapacity")
                yield from self._answered(" no capacity", state, task, error)

    def down(self, state: State) -> State:
        """Stop the machine, and its worker with it."""
        for task in state.tasks:
            if self.function_of(task) == TURN:
                state = self.died(state.minus(task), task)
        return state._replace(machine=STOPPING_MACHINE)

    def _write(self, state: State, task: Task, call: Call, text: str) -> Iterator[Outcome]:
        """Yield the outcomes of a write of the table.

        A state holds no row versions: the first try of a change is refused, as after a lost race, and the handler
        decides again on the current row.
        """
        job = self._changed_job(call)
        if job:
            task = self._after(state, task, _refused(call, self.services.item(state, f"job#{job}")))
            call_again, text_again = self._histories.next_call(task.history)
            if not isinstance(call_again, Call) or self._changed_job(call_again) != job:
                yield from self._go_on(state, task)
                return
            call, text = call_again, text_again
        answer, after = self.services.write_table(state, call, text)
        after, task = self._checked(state, after, task)
        yield from self._answered("", after, task, answer)

    def _checked(self, before: State, after: State, task: Task) -> tuple[State, Task]:
        """Check each changed row. A claim is noted in all tasks: they end before its lease does."""
        for job in self.services.jobs(after):
            old, new = self.services.row(before, job), self.services.row(after, job)
            assert new
            if old is new:
                continue
            fates = {number: fate for (owner, number), fate in before.fates if owner == job}
            asking = [self.attempt_asked_for(before, task) for task in before.tasks if self.asks(task)]
            moment = Moment(
                outputs=[number for number, fate in fates.items() if fate == OUTPUT],
                running=[number for number, fate in fates.items() if fate == RUNNING]
                + [number for owner, number in asking if owner == job],
                now=self.times[before.phase],
                latest_start=self._latest,
                retention=RETENTION_IN_SECONDS,
            )
            for broken in broken_by_change(old, new, moment):
                raise BrokenError(*broken)
            if new.attempts > (old.attempts if old else 0):
                tasks = tuple(sorted(each._replace(before=_with(each.before, job)) for each in after.tasks))
                after, task = after._replace(tasks=tasks), task._replace(before=_with(task.before, job))
        return after, task

    def _store_output(self, state: State, task: Task, call: Call) -> Iterator[Outcome]:
        _, job, number, _ = call.arguments["Key"].split("/")
        for broken in broken_by_output(self.services.row(state, job)):
            raise BrokenError(*broken)
        after = state.with_fate((job, int(number)), OUTPUT)
        stored = Call("get_object", {"Bucket": BUCKET, "Key": call.arguments["Key"]})
        yield from self._answered("", after, task, self.services.read_bucket(after, stored, repr(stored)))

    def _invoke(self, state: State, task: Task) -> Iterator[Outcome]:
        """Yield the outcomes of a call of the real-time endpoint.

        An attempt that is throttled, or meets a model that has fallen asleep, does not run.
        """
        attempt = self.attempt_asked_for(state, task)
        self._check_invocation(state, *attempt)
        over = state.with_fate(attempt, OVER)
        yield from self._answered(" answered", over, task, {"Body": Body(ANSWER), "ContentType": "application/json"})
        for name, status in (("refused", 422), ("failed", 500)):
            words = {"OriginalStatusCode": status, "OriginalMessage": CANARY}
            error = Refusal("ModelError", "model", 424, **words).for_caller("InvokeEndpoint")
            yield from self._answered(f" {name}", over, task, error)
        yield from self._answered(" throttled", state, task, _throttled())
        asleep = Refusal("ValidationError", NO_CAPACITY).for_caller("InvokeEndpoint")
        yield from self._answered(" no capacity", state, task, asleep)

    def _invoke_async(self, state: State, task: Task, call: Call) -> Iterator[Outcome]:
        job, _, number = call.arguments["InferenceId"].partition(".")
        attempt = (job, int(number))
        self._check_invocation(state, *attempt)
        taken = state.with_fate(attempt, RUNNING)
        keys = {"OutputLocation": output_key(attempt), "FailureLocation": failure_key(attempt)}
        where = {name: f"s3://{BUCKET}/{key}" for name, key in keys.items()}
        yield from self._answered("", taken, task, where)
        yield from self._answered(
            " taken, answer lost", taken, task, ReadTimeoutError(endpoint_url="https://simulated")
        )
        yield from self._answered(" throttled", state, task, _throttled())

    def _check_calls(self, state: State, task: Task) -> None:
        asked = self.attempt_asked_for(state, task)[0]
        if any(self.asks(other) and self.attempt_asked_for(state, other)[0] == asked for other in state.tasks):
            raise BrokenError("i9_every_claim_precedes_its_invocation", "two calls for one job at once")

    def _check_invocation(self, state: State, job: str, number: int) -> None:
        earlier = state.fate((job, number)) is not None
        for broken in broken_by_invocation(self.services.row(state, job), number, earlier, self.times[state.phase]):
            raise BrokenError(*broken)

    def _answered(self, how: str, state: State, task: Task, content: Any) -> Iterator[Outcome]:
        for more, outcome in self._go_on(state, self._after(state, task, content)):
            yield how + more, outcome

    def _go_on(self, state: State, task: Task, *, at_once: bool = False) -> Iterator[Outcome]:
        """Make all calls up to the next observable one. at_once: also the first write of a row.

        The event of a job's end is part of the step that ends the job. The function may die before or after it.
        """
        while True:
            call, text = self._histories.next_call(task.history)
            if isinstance(call, Returned):
                yield "", self._ended(state, task, call)
                return
            if call.operation == "put_events":
                yield ", dies before the event", self.died(state, task)
                state = self._announce(state, call)
                task = self._after(state, task, {"FailedEntryCount": 0})
                yield ", dies after the event", self.died(state, task)
                at_once = True
                continue
            answer = self._unobservable(state, call, text)
            if answer is None:
                break
            task = self._after(state, task, answer)
        if at_once and self._changed_job(call):
            yield from self._write(state, task, call, text)
            return
        if self.asks(task):
            self._check_calls(state, task)
        yield "", state.plus(task)

    def died(self, state: State, task: Task) -> State:
        """Return the state after the death of a task that has left it: its message comes back, a worker restarts."""
        if self.function_of(task) == TURN:
            state = state._replace(boots=True)
        return state.with_message(task.holds) if task.holds else state

    def _announce(self, state: State, call: Call) -> State:
        job = json.loads(call.arguments["Entries"][0]["Detail"])["id"]
        row = self.services.row(state, job)
        if row and row.is_open:
            raise BrokenError("ends_are_announced", "an open job is announced as ended")
        return state._replace(announced=_with(state.announced, job))

    def _unobservable(self, state: State, call: Call, text: str) -> Any:
        """Return the answer to a call that no other function can notice; None for an observable call."""
        if call.operation in _READS_OF_TABLE:
            return self.services.read_table(state, call, text)
        if call.operation in _READS_OF_BUCKET:
            return self.services.read_bucket(state, call, text)
        if call.operation == "get_queue_attributes":
            held = sum(bool(task.holds) for task in state.tasks)
            counts = dict(zip(_QUEUE_COUNTS, (str(len(state.queued)), str(held)), strict=True))
            return {"Attributes": {"ApproximateNumberOfMessagesDelayed": "0"} | counts}
        if call.operation == "change_message_visibility":
            return {}
        if call.operation == "describe_instances":
            return _described(state.machine)
        if call.operation == "put_object" and call.arguments["Key"].startswith("input/"):
            return {"ETag": "etag", "VersionId": "1"}
        if call.operation == "put_item" and call.arguments["Item"]["pk"]["S"].startswith(("output#", "error#")):
            return {}
        return None

    def _ended(self, state: State, task: Task, end: Returned) -> State:
        function, result = self.function_of(task), end.result
        accepted = function == "submit_job" and result and result["statusCode"] in (200, 202)
        if accepted and self.services.row(state, json.loads(result["body"])["id"]) is None:
            raise BrokenError("i1_an_accepted_job_exists", "a job is accepted without a row")
        if accepted and self.mode == "ec2":
            state = self._end_of_submission(state, task, json.loads(result["body"])["id"])
        if function == TURN:
            return self._end_of_turn(state, task, result)
        if task.holds and (result is None or result["batchItemFailures"]):
            return state.with_message(task.holds)
        return state

    def _end_of_submission(self, state: State, task: Task, job: str) -> State:
        """Judge the sender's first look: it relies on the machine, or asks for a start if nobody just has."""
        contents = [answer.content for answer in self._histories[task.history].answers]
        rows = [content["Item"] for content in contents if isinstance(content, dict) and "Item" in content]
        seen = from_item(0, next(row for row in rows if row["pk"]["S"].startswith("machine#")))
        if not seen.is_alive(self.times[0]):
            late = not seen.is_loading(self.times[0]) and max(seen.tried_at, seen.asked_at) < self.times[0]
            if late and not any(map(_answers_a_start, contents)):
                raise BrokenError(STARTS, "the sender of a job sees a machine asleep, and asks for no start")
            return state
        now = from_item(0, self.services.item(state, "machine#0") or {})
        if job in state.queued and state.machine != RUNNING_MACHINE and now.state == STOPPING:
            raise BrokenError(STARTS, "the sender of a job relies on a machine that has stopped itself")
        return state._replace(trusted=_with(state.trusted, job))

    def _end_of_turn(self, state: State, task: Task, result: Any) -> State:
        if task.holds:
            state = state.with_message(task.holds)
        if result is None or not result["ended"]:
            return state
        if forgotten := sorted({*state.queued} & {*state.trusted}):
            raise BrokenError(STARTS, f"the machine goes down although it was seen alive for {forgotten}")
        return self.down(state)

    def _changed_job(self, call: Call) -> str:
        """Return the job of a write with the condition that the row has not changed."""
        put = call.arguments if call.operation == "put_item" else {}
        if call.operation == "transact_write_items":
            put = call.arguments["TransactItems"][0].get("Put", {})
        pk = str(put["Item"]["pk"]["S"]) if put else ""
        is_change = pk.startswith("job#") and "version" in put.get("ConditionExpression", "")
        return pk.removeprefix("job#") if is_change else ""

    def _after(self, state: State, task: Task, content: Any) -> Task:
        """Return the task after one more answer."""
        now, supply = self.times[state.phase], self._supply(state)
        return task._replace(history=self._histories.after(task.history, content, now, supply))

    def _supply(self, state: State) -> Supply:
        return lambda call: self._unobservable(state, call, repr(call))


def _throttled() -> ClientError:
    return Refusal("ThrottlingException", "Rate exceeded").for_caller("InvokeEndpoint")


def _refused_start(code: str) -> ClientError:
    return Refusal(code).for_caller("StartInstances")


def _answers_a_start(content: Any) -> bool:
    if isinstance(content, ClientError):
        return bool(content.operation_name == "StartInstances")
    return isinstance(content, dict) and "StartingInstances" in content


def _described(state: str) -> dict[str, Any]:
    tags = [{"Key": "slipway:machine", "Value": "0"}]
    launched = datetime.fromtimestamp(LAUNCHED_AT, UTC)
    instance = {"InstanceId": INSTANCE, "LaunchTime": launched, "State": {"Name": state}, "Tags": tags}
    return {"Reservations": [{"Instances": [instance]}]}


def _refused(call: Call, item: dict[str, Any] | None) -> ClientError:
    found: dict[str, Any] = {"Code": "ConditionalCheckFailed"} | ({"Item": item} if item else {})
    if call.operation == "put_item":
        members: dict[str, Any] = {"Item": item} if item else {}
        return Refusal("ConditionalCheckFailedException", "", **members).for_caller("PutItem")
    others = [{"Code": "None"} for _ in call.arguments["TransactItems"][1:]]
    return Refusal("TransactionCanceledException", CancellationReasons=[found, *others]).for_caller("Transact")


def _with(jobs: tuple[str, ...], job: str) -> tuple[str, ...]:
    return tuple(sorted({*jobs, job}))
