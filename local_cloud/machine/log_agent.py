"""The CloudWatch agent of a machine: ships the configured files to CloudWatch Logs, with the machine's credentials."""

import contextlib
import json
import os
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any

import boto3
from botocore.exceptions import BotoCoreError, ClientError

_LOOK_EVERY_SECONDS = 0.2
_MOST_EVENTS = 1000


class ShippedFile:
    """A file and its log stream; `sent` is the number of bytes that were delivered."""

    def __init__(self, entry: dict[str, str], instance_id: str, state: Path) -> None:
        self.path, self.group = Path(entry["file_path"]), entry["log_group_name"]
        self.stream = entry["log_stream_name"].replace("{instance_id}", instance_id)
        self._state = state / self.path.name
        self._sent = int(self._state.read_text()) if self._state.exists() else 0
        self._has_stream = self._sent > 0

    def ship(self, logs: Any) -> None:
        """Send the complete lines."""
        if not self.path.exists() or self.path.stat().st_size <= self._sent:
            return
        with self.path.open("rb") as file:
            file.seek(self._sent)
            lines = file.readlines()[:_MOST_EVENTS]
        whole = [line for line in lines if line.endswith(b"\n")]
        now = int(time.time() * 1000)
        messages = [line.decode(errors="replace").rstrip("\n") for line in whole]
        events = [{"timestamp": now, "message": message} for message in messages if message.strip()]
        if events:
            self._demand_stream(logs)
            logs.put_log_events(logGroupName=self.group, logStreamName=self.stream, logEvents=events)
        self._sent += sum(map(len, whole))
        self._state.write_text(str(self._sent))

    def _demand_stream(self, logs: Any) -> None:
        if not self._has_stream:
            with contextlib.suppress(logs.exceptions.ResourceAlreadyExistsException):
                logs.create_log_stream(logGroupName=self.group, logStreamName=self.stream)
            self._has_stream = True


def main() -> None:
    configuration = Path(sys.argv[1])
    entries = json.loads(configuration.read_text())["logs"]["logs_collected"]["files"]["collect_list"]
    state = configuration.parent / "sent"
    state.mkdir(exist_ok=True)
    instance_id = os.environ["SLIPWAY_LOCAL_INSTANCE_ID"]
    files = [ShippedFile(entry, instance_id, state) for entry in entries]
    stopping = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stopping.set())
    logs = boto3.client("logs", region_name=os.environ["SLIPWAY_LOCAL_REGION"])  # the real agent asks IMDS
    while True:
        last = stopping.is_set()
        for file in files:
            try:
                file.ship(logs)
            except (BotoCoreError, ClientError) as error:
                print(f"{file.path}: {error}", file=sys.stderr, flush=True)
        if last:
            return
        stopping.wait(_LOOK_EVERY_SECONDS)


if __name__ == "__main__":
    main()
