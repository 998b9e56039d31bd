"""The hooks into the emulator's SQS: messages are put, taken and moved in steps that no other thread interrupts."""

import functools
import json
import threading
import time
import uuid
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

from local_cloud.emulator import hooks, scope_hooks

_app = hooks.internals("ministack.app", "SERVICE_HANDLERS")
_sqs = hooks.internals(
    "ministack.services.sqs",
    "_HANDLERS",
    "_act_change_visibility",
    "_act_send_message",
    "_collect_msgs",
    "_delete_messages_for_esm",
    "_dlq_sweep",
    "_ensure_msg_fields",
    "_expire_retained",
    "_get_q",
    "_queue_by_arn",
    "_queues",
    "_queues_lock",
    "_receive_messages_for_esm",
    "_refresh_counts",
    "queue_delay",
    "queue_policy_allows",
)
_concurrency = hooks.internals("ministack.core.concurrency", "esm_wake")
_sns = hooks.internals("ministack.services.sns", "_deliver_to_sqs")
_events = hooks.internals("ministack.services.eventbridge", "_dispatch_to_sqs")

Queue = dict[str, Any]
Message = dict[str, Any]
# The emulator exchanges a queue's list of messages while other threads add to it, which would lose messages.
_lock = threading.RLock()


def _locked(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def call(*args: Any, **named: Any) -> Any:
        with _lock:
            return function(*args, **named)

    return call


def _take_turns() -> None:
    _sqs._queues_lock = _lock
    for name in ("_act_send_message", "_act_change_visibility", "_dlq_sweep", "_expire_retained", "_refresh_counts"):
        setattr(_sqs, name, _locked(getattr(_sqs, name)))
    _sns._deliver_to_sqs = _locked(_sns._deliver_to_sqs)
    _events._dispatch_to_sqs = _locked(_events._dispatch_to_sqs)
    for action, handler in _sqs._HANDLERS.items():
        if action != "ReceiveMessage":  # it waits; each of its steps takes the lock
            _sqs._HANDLERS[action] = _locked(handler)
    # By name, so that what wraps them further is called here as it is for a batch.
    _sqs._HANDLERS["SendMessage"] = lambda data, url: _sqs._act_send_message(data, url)
    _sqs._HANDLERS["ChangeMessageVisibility"] = lambda data, url: _sqs._act_change_visibility(data, url)


_take_turns()


_chain: ContextVar[int] = ContextVar("chain", default=0)


def _follow_chains() -> None:
    # The SDK in a function sends along how many invocations have led to its call.
    original = _app.SERVICE_HANDLERS["sqs"]

    async def handle(method: str, path: str, headers: dict[str, str], *rest: Any) -> Any:
        _chain.set(int(headers.get("x-ministack-invoke-depth", "0")))
        return await original(method, path, headers, *rest)

    _app.SERVICE_HANDLERS["sqs"] = handle


_follow_chains()


def find_queue(arn: str) -> Queue | None:
    queue: Queue | None = _sqs._queue_by_arn(arn)
    return queue


def all_queues() -> list[tuple[str, str, Queue]]:
    """Every queue with its account and region."""
    return scope_hooks.in_all_scopes(_sqs._queues)


def counts_of(queue: Queue) -> dict[str, int]:
    """The numbers of messages that wait, are in flight and are delayed, as the metrics of AWS name them."""
    _sqs._refresh_counts(queue)
    names = {"Visible": "", "NotVisible": "NotVisible", "Delayed": "Delayed"}
    attributes = queue["attributes"]
    return {
        f"ApproximateNumberOfMessages{name}": int(attributes[f"ApproximateNumberOfMessages{member}"])
        for name, member in names.items()
    }


def queue_lets(service: str, queue_arn: str, source_arn: str) -> bool:
    """Whether the queue's policy lets a service, say "sns.amazonaws.com", send to it for this source."""
    return bool(_sqs.queue_policy_allows(queue_arn, service, source_arn, hooks.account_id()))


def put_message(queue: Queue, body: str, attributes: dict[str, str]) -> None:
    """Put a message of a service into a queue."""
    now = time.time()
    typed = {name: {"DataType": "String", "StringValue": value} for name, value in attributes.items()}
    message = {"id": str(uuid.uuid4()), "body": body, "message_attributes": typed, "sent_at": now, "visible_at": now}
    _sqs._ensure_msg_fields(message)
    with _lock:
        queue["messages"].append(message)
    _concurrency.esm_wake.set()


def send_messages_with(send: Callable[[Queue, Callable[[], Message]], None]) -> None:
    """Send each message of a client through send(queue, put), where put() adds the message and returns it."""
    original = _sqs._act_send_message

    def send_message(data: dict[str, Any], url: str) -> Any:
        answers = []
        with _lock:
            queue: Queue = _sqs._get_q(data.get("QueueUrl", url))

            def put() -> Message:
                answers.append(original(data, url))
                message: Message = queue["messages"][-1]
                message["chain"] = _chain.get()
                return message

            send(queue, put)
        return answers[0]

    _sqs._act_send_message = send_message


def take_messages_with(choose: Callable[[list[Message], list[Message], int], list[Message]]) -> None:
    """Let choose(waiting, in flight, at most) say which messages a receive on a standard queue gets."""
    collect = _sqs._collect_msgs

    def collect_messages(queue: Queue, most: int, visibility: float) -> list[Message]:
        with _lock:
            if queue["is_fifo"]:
                found: list[Message] = collect(queue, most, visibility)
                return found
            now = time.time()
            waiting = [each for each in queue["messages"] if each["visible_at"] <= now]
            in_flight = [each for each in queue["messages"] if each["visible_at"] > now and each["receive_count"]]
            chosen = choose(waiting, in_flight, most)
            for message in chosen:
                message["receipt_handle"] = str(uuid.uuid4())
                message["visible_at"] = now + visibility
                message["receive_count"] += 1
                message["first_receive_at"] = message.get("first_receive_at") or now
            return chosen

    _sqs._collect_msgs = collect_messages


def follow_clock(shortened: Callable[[float], float], will_be_visible: Callable[[float], None]) -> None:
    """Shorten delays, and visibility timeouts that functions set; tell the moments at which messages appear."""
    delay, change = _sqs.queue_delay, _sqs._act_change_visibility
    _sqs.queue_delay = lambda queue: shortened(delay(queue))

    def send(queue: Queue, put: Callable[[], Message]) -> None:
        message = put()
        message["visible_at"] = message["sent_at"] + shortened(message["visible_at"] - message["sent_at"])
        will_be_visible(message["visible_at"])

    def change_visibility(data: dict[str, Any], url: str) -> Any:
        with _lock:
            answer = change(data, url)
            for message in _sqs._get_q(data.get("QueueUrl", url))["messages"]:
                if message.get("receipt_handle") == data["ReceiptHandle"] and "taken_until" in message:
                    message["visible_at"] = time.time() + shortened(int(data["VisibilityTimeout"]))
                    will_be_visible(message["visible_at"])
        return answer

    send_messages_with(send)
    _sqs._act_change_visibility = change_visibility


def mark_taken() -> None:
    """Note on each message that an event source takes when its visibility timeout ends; batches may be of any size."""
    receive = _sqs._receive_messages_for_esm

    def receive_messages(url: str, most: int) -> list[Message]:
        batch: list[Message] = []
        while len(batch) < most and (more := receive(url, most - len(batch))):
            batch += more
        for message in batch:
            message["taken_until"] = message["visible_at"]
        return batch

    _sqs._receive_messages_for_esm = receive_messages


def bury(queue: Queue, batch: list[Message]) -> None:
    """Take messages out of a queue, into its dead-letter queue if it has one."""
    policy = json.loads(queue["attributes"].get("RedrivePolicy") or "{}")
    dead_letters = find_queue(policy.get("deadLetterTargetArn", ""))
    _sqs._delete_messages_for_esm(queue["url"], {message["receipt_handle"] for message in batch})
    if dead_letters is not None:
        with _lock:
            dead_letters["messages"] += [message | {"visible_at": time.time()} for message in batch]
        _concurrency.esm_wake.set()


def end_batch(queue: Queue, batch: list[Message], failed: set[str], visible_at: float) -> None:
    """Delete the messages of a batch whose ids are not in `failed`; those appear again, if nothing else was said."""
    done = {message["receipt_handle"] for message in batch if message["id"] not in failed}
    _sqs._delete_messages_for_esm(queue["url"], done)
    with _lock:
        for message in batch:
            if message["id"] in failed and message["visible_at"] == message["taken_until"]:
                message["visible_at"] = visible_at
