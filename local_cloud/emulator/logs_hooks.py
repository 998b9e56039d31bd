"""The hooks into the emulator's CloudWatch Logs."""

import json
from typing import Any

from local_cloud.emulator import hooks

_iam_actions = hooks.internals("ministack.core.iam_actions", "extract_resource_arn")
_logs = hooks.internals("ministack.services.cloudwatch_logs", "_append_log_events", "_log_groups")


def log_group_exists(name: str) -> bool:
    return name in _logs._log_groups


def write_log(group: str, stream: str, message: str, milliseconds: int) -> None:
    """Append an event to a log group, if the group exists."""
    if not log_group_exists(group):
        return
    empty = {
        "events": [],
        "uploadSequenceToken": "1",
        "creationTime": milliseconds,
        "firstEventTimestamp": None,
        "lastEventTimestamp": None,
        "lastIngestionTime": None,
    }
    target = _logs._log_groups[group]["streams"].setdefault(stream, empty)
    _logs._append_log_events(target, [{"timestamp": milliseconds, "message": message, "ingestionTime": milliseconds}])


def _authorize_on_streams() -> None:
    # AWS asks for these on the stream, so that the usual policy for "log-group:<name>:*" covers them.
    resource_of = _iam_actions.extract_resource_arn

    def extract_resource_arn(name: str, method: str, path: str, headers: Any, body: bytes, *rest: Any) -> Any:
        resource = resource_of(name, method, path, headers, body, *rest)
        action = headers.get("x-amz-target", "").rpartition(".")[2] if name == "logs" else ""
        if action in ("CreateLogGroup", "CreateLogStream", "PutLogEvents"):
            return f"{resource}:log-stream:{json.loads(body).get('logStreamName', '')}"
        return resource

    _iam_actions.extract_resource_arn = extract_resource_arn


_authorize_on_streams()
