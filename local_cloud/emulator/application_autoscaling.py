"""Application Auto Scaling for SageMaker variants in templates: targets and policies are checked and registered."""

import uuid
from typing import Any, NamedTuple

from local_cloud.emulator import ministack
from local_cloud.emulator.cloudformation import Provisioned, register_resource_type
from local_cloud.emulator.sagemaker_store import endpoints
from local_cloud.emulator.scalable_target import ScalableTarget
from local_cloud.emulator.step_scaling import StepScaling
from local_cloud.emulator.target_tracking import TargetTracking

_DIMENSION = "sagemaker:variant:DesiredInstanceCount"


class Policy(NamedTuple):
    """A registered policy."""

    resource_id: str
    configuration: TargetTracking | StepScaling


# Targets by resource id, policies by ARN.
targets: Any = ministack.scoped_store()
policies: Any = ministack.scoped_store()


def variant_is_scaled(endpoint: str, variant: str) -> bool:
    return _resource_id(endpoint, variant) in targets


def forget_variant(endpoint: str, variant: str) -> None:
    """The variant is gone, and its target with it."""
    targets.pop(_resource_id(endpoint, variant), None)


def _resource_id(endpoint: str, variant: str) -> str:
    return f"endpoint/{endpoint}/variant/{variant}"


def _create_target(logical_id: str, properties: dict[str, Any], stack: str) -> Provisioned:
    resource_id = properties["ResourceId"]
    _demand_dimension(properties["ServiceNamespace"], properties["ScalableDimension"])
    endpoint = next((each for each in endpoints.values() if resource_id == _resource_id_of(each)), None)
    if endpoint is None:
        raise ValueError(f"SageMaker endpoint or variant not found: {resource_id}")
    minimum, maximum = int(properties["MinCapacity"]), int(properties["MaxCapacity"])
    if minimum > maximum:
        raise ValueError("Maximum capacity cannot be less than minimum capacity")
    if minimum < 1 and not endpoint.queue:
        raise ValueError(f"Minimum capacity must be at least 1: {resource_id} is no asynchronous endpoint")
    target = targets.setdefault(resource_id, ScalableTarget(resource_id))
    target.set_limits(minimum, maximum)
    # A policy may refer to its target by this id.
    physical_id = f"{resource_id}|{_DIMENSION}|sagemaker"
    return physical_id, {"Id": physical_id}


def _resource_id_of(endpoint: Any) -> str:
    return _resource_id(endpoint.name, endpoint.variant["VariantName"])


def _update_target(physical_id: str, old: dict[str, Any], new: dict[str, Any], stack: str) -> Provisioned:
    return _create_target("", new, stack)


def _delete_target(physical_id: str, properties: dict[str, Any]) -> None:
    targets.pop(properties["ResourceId"], None)


def _create_policy(logical_id: str, properties: dict[str, Any], stack: str) -> Provisioned:
    resource_id = _demand_target(properties)
    policy = f"{uuid.uuid4()}:resource/sagemaker/{resource_id}:policyName/{properties['PolicyName']}"
    arn = f"arn:aws:autoscaling:{ministack.region()}:{ministack.account_id()}:scalingPolicy:{policy}"
    return _update_policy(arn, {}, properties, stack)


def _update_policy(arn: str, old: dict[str, Any], new: dict[str, Any], stack: str) -> Provisioned:
    resource_id = _demand_target(new)
    policies[arn] = Policy(resource_id, _configuration(new, resource_id))
    return arn, {"Arn": arn}


def _delete_policy(arn: str, properties: dict[str, Any]) -> None:
    policies.pop(arn, None)


def _configuration(policy: dict[str, Any], resource_id: str) -> TargetTracking | StepScaling:
    kind = policy.get("PolicyType")
    if kind == "TargetTrackingScaling":
        return TargetTracking(policy["TargetTrackingScalingPolicyConfiguration"], resource_id)
    if kind == "StepScaling":
        return StepScaling(policy["StepScalingPolicyConfiguration"])
    raise ValueError(f"PolicyType: the local cloud knows TargetTrackingScaling and StepScaling, not {kind}.")


def _demand_target(policy: dict[str, Any]) -> str:
    """The resource id of the policy's target, which must be registered."""
    if "ScalingTargetId" in policy:
        resource_id, dimension, namespace = policy["ScalingTargetId"].split("|")
    else:
        resource_id, dimension, namespace = (
            policy[member] for member in ("ResourceId", "ScalableDimension", "ServiceNamespace")
        )
    _demand_dimension(namespace, dimension)
    if resource_id not in targets:
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
