"""SQS as AWS runs it where the emulator differs: fair queues, and delays on the cloud's clock."""

from collections import Counter

from local_cloud.emulator import clock, event_source_hooks, sqs_hooks
from local_cloud.emulator.sqs_hooks import Message


def choose_fairly(waiting: list[Message], in_flight: list[Message], most: int) -> list[Message]:
    """The oldest messages of the groups with the fewest messages in flight; one without a group is its own group."""
    busy = Counter(message["group_id"] for message in in_flight if message.get("group_id"))
    waiting, chosen = list(waiting), list[Message]()
    while waiting and len(chosen) < most:
        # min() keeps to the order of the queue among equals.
        message = min(waiting, key=lambda each: busy[each["group_id"]] if each.get("group_id") else 0)
        waiting.remove(message)
        chosen.append(message)
        if message.get("group_id"):
            busy[message["group_id"]] += 1
    return chosen


def install() -> None:
    sqs_hooks.take_messages_with(choose_fairly)
    sqs_hooks.follow_clock(clock.shortened, event_source_hooks.poll_at)
