"""SQS: makes changes of queues atomic, follows the cloud's clock, and puts the metrics of queues."""

import functools
import threading
from collections.abc import Callable
from typing import Any

from local_cloud.emulator.core import clock, ministack
from local_cloud.emulator.services import cloudwatch

_sqs = ministack.internals(
    "ministack.services.sqs",
    "_HANDLERS",
    "_collect_msgs",
    "_dlq_sweep",
    "_expire_retained",
    "_queue_by_arn",
    "_queues",
    "_queues_lock",
    "_refresh_counts",
    "time",
)
_concurrency = ministack.internals("ministack.core.concurrency", "esm_wake")

Queue = dict[str, Any]
_METRICS_EVERY_SECONDS = 60
# In real seconds: how late an event source may notice the end of a delay or a visibility timeout.
_LOOK_FOR_VISIBLE_MESSAGES_EVERY_SECONDS = 0.1
_lock = threading.RLock()


def one_at_a_time(change: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a change of a queue so that no other thread interrupts it.

    MiniStack replaces a queue's list of messages while other threads add to it, which would lose messages.
    """

    @functools.wraps(change)
    def locked(*args: Any, **named: Any) -> Any:
        with _lock:
            return change(*args, **named)

    return locked


def find_queue(arn: str) -> Queue | None:
    queue: Queue | None = _sqs._queue_by_arn(arn)
    return queue


def _change_queues_atomically() -> None:
    _sqs._queues_lock = _lock
    _sqs._collect_msgs = one_at_a_time(_sqs._collect_msgs)
    _sqs._dlq_sweep = one_at_a_time(_sqs._dlq_sweep)
    _sqs._expire_retained = one_at_a_time(_sqs._expire_retained)
    _sqs._refresh_counts = one_at_a_time(_sqs._refresh_counts)
    for action, handler in _sqs._HANDLERS.items():
        if action != "ReceiveMessage":  # not locked as a whole, because it waits; each of its steps is
            _sqs._HANDLERS[action] = one_at_a_time(handler)


def _put_metrics() -> None:
    for account, region, queue in ministack.in_all_scopes(_sqs._queues):
        with ministack.scope(account, region):
            cloudwatch.record_metrics("AWS/SQS", {"QueueName": queue["name"]}, _metrics_of(queue))


def _metrics_of(queue: Queue) -> dict[str, tuple[float, str]]:
    _sqs._refresh_counts(queue)
    names = {"Visible": "", "NotVisible": "NotVisible", "Delayed": "Delayed"}
    values = {
        f"ApproximateNumberOfMessages{name}": (
            float(queue["attributes"][f"ApproximateNumberOfMessages{part}"]),
            "Count",
        )
        for name, part in names.items()
    }
    now = clock.now()
    oldest = min((message["sent_at"] for message in queue["messages"]), default=now)
    return values | {"ApproximateAgeOfOldestMessage": (now - oldest, "Seconds")}


def install() -> None:
    ministack.follow_clock(_sqs)
    _change_queues_atomically()
    clock.repeat(_put_metrics, clock.shortened(_METRICS_EVERY_SECONDS))
    clock.repeat(_concurrency.esm_wake.set, _LOOK_FOR_VISIBLE_MESSAGES_EVERY_SECONDS, skips_missed=True)
