"""Application Auto Scaling in templates: targets and policies are checked and registered, nothing scales by itself."""

import uuid
from typing import Any

from local_cloud.emulator import hooks
from local_cloud.emulator.cloudformation_hooks import Provisioned, register_resource_type
from local_cloud.emulator.sagemaker_store import endpoints

_DIMENSION = "sagemaker:variant:DesiredInstanceCount"
# The resource ids of the variants that are registered.
_targets: Any = hooks.scoped_store()


def variant_is_scaled(endpoint: str, variant: str) -> bool:
    return _resource_id(endpoint, variant) in _targets


def forget_variant(endpoint: str, variant: str) -> None:
    """The variant is gone, and its target with it."""
    _targets.pop(_resource_id(endpoint, variant), None)


def _resource_id(endpoint: str, variant: str) -> str:
    return f"endpoint/{endpoint}/variant/{variant}"


def _create_target(logical_id: str, properties: dict[str, Any], stack: str) -> Provisioned:
    resource_id = properties["ResourceId"]
    _demand_dimension(properties["ServiceNamespace"], properties["ScalableDimension"])
    if resource_id not in {_resource_id(name, each.variant["VariantName"]) for name, each in endpoints.items()}:
        raise ValueError(f"SageMaker endpoint or variant not found: {resource_id}")
    if int(properties["MinCapacity"]) > int(properties["MaxCapacity"]):
        raise ValueError("Maximum capacity cannot be less than minimum capacity")
    _targets[resource_id] = properties
    # A policy may refer to its target by this id.
    physical_id = f"{resource_id}|{_DIMENSION}|sagemaker"
    return physical_id, {"Id": physical_id}


def _update_target(physical_id: str, old: dict[str, Any], new: dict[str, Any], stack: str) -> Provisioned:
    return _create_target("", new, stack)


def _delete_target(physical_id: str, properties: dict[str, Any]) -> None:
    _targets.pop(properties["ResourceId"], None)


def _create_policy(logical_id: str, properties: dict[str, Any], stack: str) -> Provisioned:
    resource_id = _demand_target(properties)
    policy = f"{uuid.uuid4()}:resource/sagemaker/{resource_id}:policyName/{properties['PolicyName']}"
    arn = f"arn:aws:autoscaling:{hooks.region()}:{hooks.account_id()}:scalingPolicy:{policy}"
    return arn, {"Arn": arn}


def _update_policy(arn: str, old: dict[str, Any], new: dict[str, Any], stack: str) -> Provisioned:
    _demand_target(new)
    return arn, {"Arn": arn}


def _delete_policy(arn: str, properties: dict[str, Any]) -> None:
    """Nothing is kept of a policy."""


def _demand_target(policy: dict[str, Any]) -> str:
    """The resource id of the policy's target, which must be registered."""
    if "ScalingTargetId" in policy:
        resource_id, dimension, namespace = policy["ScalingTargetId"].split("|")
    else:
        resource_id, dimension, namespace = (
            policy[member] for member in ("ResourceId", "ScalableDimension", "ServiceNamespace")
        )
    _demand_dimension(namespace, dimension)
    if resource_id not in _targets:
        raise ValueError(
            f"No scalable target found for service namespace: sagemaker, resource ID: {resource_id}, "
            f"scalable dimension: {_DIMENSION}"
        )
    return str(resource_id)


def _demand_dimension(namespace: str, dimension: str) -> None:
    if (namespace, dimension) != ("sagemaker", _DIMENSION):
        raise ValueError(f"The local cloud scales sagemaker {_DIMENSION} only, not {namespace} {dimension}.")


def install() -> None:
    register_resource_type(
        "AWS::ApplicationAutoScaling::ScalableTarget",
        create=_create_target,
        update=_update_target,
        delete=_delete_target,
        replaced_by=("ResourceId", "ScalableDimension", "ServiceNamespace"),
    )
    register_resource_type(
        "AWS::ApplicationAutoScaling::ScalingPolicy",
        create=_create_policy,
        update=_update_policy,
        delete=_delete_policy,
        replaced_by=("PolicyName", "ResourceId", "ScalableDimension", "ScalingTargetId", "ServiceNamespace"),
    )
