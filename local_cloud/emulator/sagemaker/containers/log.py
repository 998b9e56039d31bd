"""The output of a model container, written to CloudWatch Logs with the execution role's permissions."""

import contextlib
import queue
import threading
import time
from typing import Any

from botocore.exceptions import ClientError

from local_cloud.emulator.core import ministack
from local_cloud.emulator.services import iam

_END = None


class ContainerLog:
    """One log stream, whose writer runs until close()."""

    def __init__(self, role_arn: str, group: str, stream: str) -> None:
        self.last_line = ""
        self._lines: queue.SimpleQueue[tuple[int, str] | None] = queue.SimpleQueue()
        self._closed = threading.Event()
        ministack.in_background(self._write_all, role_arn, group, stream, name=f"log {stream}")

    def write(self, line: str) -> None:
        if line.strip():
            self.last_line = line
            self._lines.put((int(time.time() * 1000), line))

    def close(self) -> None:
        """Wait until the last line is stored: the role may be deleted afterwards."""
        self._lines.put(_END)
        self._closed.wait(timeout=30)

    def _write_all(self, role_arn: str, group: str, stream: str) -> None:
        try:
            events, more = self._next_batch()
            if not events:
                return
            with contextlib.closing(iam.client_as_role("logs", role_arn)) as logs:
                _create_stream(logs, group, stream)
                while events:
                    logs.put_log_events(logGroupName=group, logStreamName=stream, logEvents=events)
                    events, more = self._next_batch() if more else ([], False)
        except ClientError:
            return  # As on AWS, an endpoint whose role may not write logs runs without logs.
        finally:
            self._closed.set()

    def _next_batch(self) -> tuple[list[dict[str, Any]], bool]:
        """The waiting lines, at least one unless the log was closed, and whether more may follow."""
        events: list[dict[str, Any]] = []
        item = self._lines.get()
        while item is not None:
            events.append({"timestamp": item[0], "message": item[1]})
            if self._lines.empty() or len(events) == 1000:
                return events, True
            item = self._lines.get()
        return events, False


def _create_stream(logs: Any, group: str, stream: str) -> None:
    try:
        logs.create_log_stream(logGroupName=group, logStreamName=stream)
    except logs.exceptions.ResourceNotFoundException:
        logs.create_log_group(logGroupName=group)
        logs.create_log_stream(logGroupName=group, logStreamName=stream)
