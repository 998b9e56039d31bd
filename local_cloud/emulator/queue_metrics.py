"""The metrics that SQS puts of each queue every minute."""

import time

from local_cloud.emulator import clock, cloudwatch_hooks, hooks, sqs_hooks
from local_cloud.emulator.sqs_hooks import Queue

_INTERVAL_IN_SECONDS = 60


def _put_all() -> None:
    for account, region, queue in sqs_hooks.all_queues():
        with hooks.scope(account, region):
            _put(queue)


def _put(queue: Queue) -> None:
    counts = sqs_hooks.counts_of(queue)
    values = {name: (float(count), "Count") for name, count in counts.items()}
    oldest = min((message["sent_at"] for message in queue["messages"]), default=None)
    # Waiting counts on the cloud's clock.
    age = 0.0 if oldest is None else (time.time() - oldest) * clock.SPEED
    values["ApproximateAgeOfOldestMessage"] = (age, "Seconds")
    cloudwatch_hooks.record_metrics("AWS/SQS", {"QueueName": queue["name"]}, values)


def install() -> None:
    hooks.repeat(_put_all, clock.shortened(_INTERVAL_IN_SECONDS))
