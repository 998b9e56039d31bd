"""Composite alarms of templates. MiniStack evaluates their rules whenever an alarm of the rule changes its state."""

import json
import secrets
from typing import Any

from local_cloud.emulator.cloudformation.resource_types import Properties, Provisioned, register_resource_type
from local_cloud.emulator.core import ministack

_cloudwatch = ministack.internals(
    "ministack.services.cloudwatch", "_composite_alarms", "_delete_alarms", "_put_composite_alarm"
)


_MEMBERS = ("AlarmActions", "AlarmDescription", "AlarmRule", "OKActions")


def _ask(operation: Any, request: dict[str, Any]) -> None:
    status, _, body = operation({}, request, False, True)
    if status >= 400:
        raise ValueError(json.loads(body)["message"])


def _put(name: str, properties: Properties) -> Provisioned:
    enabled = str(properties.get("ActionsEnabled", True)).lower() == "true"
    given = {member: properties[member] for member in _MEMBERS if member in properties}
    _ask(_cloudwatch._put_composite_alarm, given | {"AlarmName": name, "ActionsEnabled": enabled})
    return name, {"Arn": _cloudwatch._composite_alarms[name]["AlarmArn"]}


def _create(logical_id: str, properties: Properties, stack: str) -> Provisioned:
    return _put(properties.get("AlarmName") or f"{stack}-{logical_id}-{secrets.token_hex(6).upper()}", properties)


def _update(physical_id: str, _: Properties, properties: Properties, __: str) -> Provisioned:
    return _put(physical_id, properties)


def _delete(physical_id: str, _: Properties) -> None:
    _ask(_cloudwatch._delete_alarms, {"AlarmNames": [physical_id]})


def install() -> None:
    register_resource_type(
        "AWS::CloudWatch::CompositeAlarm", create=_create, update=_update, delete=_delete, replaced_by=("AlarmName",)
    )
