"""Log groups of a template: CloudFormation does not take over one that exists already."""

from typing import Any

from local_cloud.emulator import logs_hooks
from local_cloud.emulator.cloudformation_hooks import extend_resource_type


def _refuse_known_log_group(properties: dict[str, Any]) -> None:
    name = properties.get("LogGroupName", "")
    if logs_hooks.log_group_exists(name):
        identifier = f'{{"/properties/LogGroupName":"{name}"}}'
        raise ValueError(f"Resource of type 'AWS::Logs::LogGroup' with identifier '{identifier}' already exists.")


def install() -> None:
    extend_resource_type(
        "AWS::Logs::LogGroup",
        check_new=_refuse_known_log_group,
        # With a unique part, so that a retained group is not taken over by the next stack of that name.
        generated_name=("LogGroupName", "/aws/cloudformation/{stack}/{logical_id}-{unique}"),
    )
