"""CloudWatch Logs: log groups of templates, log events that services write, and searches for log groups by tag."""

import json
import re
import uuid
from collections.abc import Iterator
from typing import Any

from local_cloud.emulator.cloudformation.resource_types import extend_resource_type
from local_cloud.emulator.core import ministack
from local_cloud.emulator.services.embedded_metrics import put_embedded

_iam_actions = ministack.internals("ministack.core.iam_actions", "extract_resource_arn")
_logs = ministack.internals("ministack.services.cloudwatch_logs", "_append_log_events", "_log_groups")
_tagging = ministack.internals("ministack.services.tagging", "_COLLECTORS", "_matches_type_filters")


def write_log(group: str, stream: str, message: str, milliseconds: int) -> None:
    """Append an event to a log group, if the group exists."""
    if group not in _logs._log_groups:
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


def _read_each_event() -> None:
    """Put the metrics that events hold, and give every event an id for FilterLogEvents.

    MiniStack writes events of functions and gateways without an id.
    """
    append = _logs._append_log_events

    def append_log_events(stream: dict[str, Any], events: list[dict[str, Any]]) -> None:
        append(stream, [{"eventId": str(uuid.uuid4()), **event} for event in events])
        for event in events:
            put_embedded(event["message"])

    _logs._append_log_events = append_log_events


def _find_by_tags() -> None:
    """Let the Resource Groups Tagging API find log groups."""

    def collect() -> Iterator[tuple[str, list[dict[str, str]]]]:
        for group in _logs._log_groups.values():
            tags = [{"Key": key, "Value": value} for key, value in group.get("tags", {}).items()]
            yield group["arn"].removesuffix(":*"), tags

    _tagging._COLLECTORS["logs"] = collect
    is_of_type = _tagging._matches_type_filters
    # Slashes in a log group's name do not belong to the resource type.
    _tagging._matches_type_filters = lambda arn, types: is_of_type(re.sub(r"(:log-group:).*", r"\1", arn), types)


def _authorize_on_streams() -> None:
    # AWS authorizes these actions on the stream, so that the usual policy for "log-group:<name>:*" allows them.
    resource_of = _iam_actions.extract_resource_arn

    def extract_resource_arn(name: str, method: str, path: str, headers: Any, body: bytes, *rest: Any) -> Any:
        resource = resource_of(name, method, path, headers, body, *rest)
        action = headers.get("x-amz-target", "").rpartition(".")[2] if name == "logs" else ""
        if action in ("CreateLogGroup", "CreateLogStream", "PutLogEvents"):
            return f"{resource}:log-stream:{json.loads(body).get('logStreamName', '')}"
        return resource

    _iam_actions.extract_resource_arn = extract_resource_arn


def _refuse_existing(properties: dict[str, Any]) -> None:
    name = properties.get("LogGroupName", "")
    if name in _logs._log_groups:
        identifier = f'{{"/properties/LogGroupName":"{name}"}}'
        raise ValueError(f"Resource of type 'AWS::Logs::LogGroup' with identifier '{identifier}' already exists.")


def _refuse_missing(name: str) -> None:
    """Fail the update of a deleted log group, as on AWS; MiniStack would create it again."""
    if name not in _logs._log_groups:
        raise ValueError(f"The specified log group does not exist: {name}")


def install() -> None:
    _read_each_event()
    _authorize_on_streams()
    _find_by_tags()
    extend_resource_type(
        "AWS::Logs::LogGroup",
        check_new=_refuse_existing,
        check_update=_refuse_missing,
        # The name has a unique part, so that the next stack of that name does not adopt a retained group.
        generated_name=("LogGroupName", "/aws/cloudformation/{stack}/{logical_id}-{unique}"),
    )
