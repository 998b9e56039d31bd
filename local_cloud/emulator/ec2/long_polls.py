"""Long polls of SQS by instances: an advance of the clock stops when a poll ends, until its process polls again."""

import asyncio
import contextlib
import time
from typing import Any

from local_cloud.emulator.core import clock, ministack
from local_cloud.emulator.ec2 import operations

_iam_evaluator = ministack.internals("ministack.core.iam_evaluator", "caller_arn")
_sqs = ministack.internals("ministack.services.sqs", "_HANDLERS")

# Both are in real seconds. An advance waits at most this long for the work after a poll.
_LOOK_EVERY_SECONDS = 0.1
_LONGEST_WORK = 1.0

# By instance: the timer that ends the work which began at the end of its last poll.
_working: dict[str, asyncio.TimerHandle] = {}


def _end_work(instance_id: str) -> None:
    if timer := _working.pop(instance_id, None):
        timer.cancel()
        clock.end_work()


def _polling_instance() -> str:
    name = str(_iam_evaluator.caller_arn()).rpartition("/")[2]
    return name if name in operations.instances else ""


async def _wait_as_instance(instance_id: str, receive: Any, data: dict[str, Any], url: str, seconds: int) -> Any:
    """Receive with a long poll; a machine that is shutting down gets its answer at once."""
    deadline = time.time() + clock.shortened(seconds)
    woken = asyncio.Event()
    sleeper = clock.stop_at(deadline, woken)
    _end_work(instance_id)  # after stop_at: otherwise an advance would move on
    try:
        while True:
            found = await receive(data | {"WaitTimeSeconds": 0}, url)
            if found or time.time() >= deadline or operations.instances[instance_id].state != "running":
                return found
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(woken.wait(), min(_LOOK_EVERY_SECONDS, max(0.0, deadline - time.time())))
    finally:
        if clock.forget(sleeper):
            later = asyncio.get_running_loop().call_later
            _working[instance_id] = later(_LONGEST_WORK, _end_work, instance_id)


def install() -> None:
    receive = _sqs._HANDLERS["ReceiveMessage"]

    async def receive_message(data: dict[str, Any], url: str) -> Any:
        instance_id, seconds = _polling_instance(), int(data.get("WaitTimeSeconds") or 0)
        if instance_id and seconds:
            return await _wait_as_instance(instance_id, receive, data, url, seconds)
        return await receive(data, url)

    _sqs._HANDLERS["ReceiveMessage"] = receive_message
