"""Application Auto Scaling's resources in CloudFormation templates."""

from typing import Any

from local_cloud.emulator import application_autoscaling, hooks
from local_cloud.emulator.scalable_targets import policies, targets


def _create_target(logical_id: str, properties: dict[str, Any], stack: str) -> tuple[str, dict[str, Any]]:
    application_autoscaling.register_target(properties)
    # A policy may refer to its target by this id.
    physical_id = "|".join(properties[member] for member in ("ResourceId", "ScalableDimension", "ServiceNamespace"))
    return physical_id, {"Id": physical_id}


def _update_target(
    physical_id: str, old: dict[str, Any], new: dict[str, Any], stack: str
) -> tuple[str, dict[str, Any]]:
    application_autoscaling.register_target(new)
    return physical_id, {"Id": physical_id}


def _delete_target(physical_id: str, properties: dict[str, Any]) -> None:
    if properties["ResourceId"] in targets:
        application_autoscaling.deregister_target(properties)


def _expand(properties: dict[str, Any]) -> dict[str, Any]:
    if "ScalingTargetId" not in properties:
        return properties
    resource_id, dimension, namespace = properties["ScalingTargetId"].split("|")
    own = {member: value for member, value in properties.items() if member != "ScalingTargetId"}
    return own | {"ResourceId": resource_id, "ScalableDimension": dimension, "ServiceNamespace": namespace}


def _create_policy(logical_id: str, properties: dict[str, Any], stack: str) -> tuple[str, dict[str, Any]]:
    arn = application_autoscaling.put_policy(_expand(properties))["PolicyARN"]
    return arn, {"Arn": arn}


def _update_policy(arn: str, old: dict[str, Any], new: dict[str, Any], stack: str) -> tuple[str, dict[str, Any]]:
    application_autoscaling.put_policy(_expand(new))
    return arn, {"Arn": arn}


def _delete_policy(arn: str, properties: dict[str, Any]) -> None:
    request = _expand(properties)
    policies.pop((request["ResourceId"], request["PolicyName"]), None)


def install() -> None:
    hooks.register_resource_type(
        "AWS::ApplicationAutoScaling::ScalableTarget",
        create=_create_target,
        update=_update_target,
        delete=_delete_target,
        replaced_by=("ResourceId", "ScalableDimension", "ServiceNamespace"),
    )
    hooks.register_resource_type(
        "AWS::ApplicationAutoScaling::ScalingPolicy",
        create=_create_policy,
        update=_update_policy,
        delete=_delete_policy,
        replaced_by=("PolicyName", "ResourceId", "ScalableDimension", "ScalingTargetId", "ServiceNamespace"),
    )
