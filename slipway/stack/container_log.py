"""Finds the lines of a model container's log that say why it failed."""

import re
from collections.abc import Iterable
from typing import Any

from botocore.exceptions import ClientError

_TROUBLE = re.compile(
    r"error|exception|fatal|failed|failure|killed|denied|refus|cannot|can't|unable|not found|out of memory|must be",
    re.IGNORECASE,
)
_STREAMS, _EVENTS, _SHOWN, _WIDTH = 3, 50, 5, 300


def last_words(log_group: str, logs: Any) -> list[str]:
    """Return the newest lines that name a problem, from the containers that wrote last, else the newest lines.

    Returns no line if the log group does not exist or is empty.
    """
    try:
        newest = logs.describe_log_streams(
            logGroupName=log_group, orderBy="LastEventTime", descending=True, limit=_STREAMS
        )["logStreams"]
        events = [
            event
            for stream in newest
            for event in logs.get_log_events(
                logGroupName=log_group, logStreamName=stream["logStreamName"], limit=_EVENTS, startFromHead=False
            )["events"]
        ]
    except ClientError as error:
        if error.response["Error"]["Code"] != "ResourceNotFoundException":
            raise
        return []
    return telling(event["message"] for event in sorted(events, key=lambda event: event["timestamp"]))


def telling(messages: Iterable[str]) -> list[str]:
    """Return the last lines that name a problem, else the last lines: at most five, cut, without repetition."""
    lines = [line.strip()[:_WIDTH] for message in messages for line in message.splitlines() if line.strip()]
    found = [line for line in lines if _TROUBLE.search(line)] or lines
    return list(dict.fromkeys(found))[-_SHOWN:]
