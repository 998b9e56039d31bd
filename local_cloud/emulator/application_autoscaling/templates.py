"""Scalable targets and scaling policies of templates: checks them, registers them, and follows them over time."""

import time
import uuid
from typing import Any, NamedTuple

from local_cloud.emulator.application_autoscaling.policies import StepScaling, TargetTracking
from local_cloud.emulator.application_autoscaling.scalable_target import Scalable, ScalableTarget
from local_cloud.emulator.application_autoscaling.scheduled_actions import read_actions
from local_cloud.emulator.cloudformation.resource_types import Provisioned, register_resource_type
from local_cloud.emulator.core import clock, ministack
from local_cloud.emulator.sagemaker.endpoint import Endpoint
from local_cloud.emulator.sagemaker.store import components, endpoints
from local_cloud.emulator.services import cloudwatch

_DIMENSIONS = {
    "endpoint": "sagemaker:variant:DesiredInstanceCount",
    "inference-component": "sagemaker:inference-component:DesiredCopyCount",
}
_LOOK_INTERVAL_IN_SECONDS = 10
# While an alarm stays on, CloudWatch repeats its scaling actions.
_ACTION_INTERVAL_IN_SECONDS = 60


class _Policy(NamedTuple):
    resource_id: str
    configuration: TargetTracking | StepScaling


# Policies by ARN.
_policies: Any = ministack.scoped_store()
# The time of an alarm's last action, by the alarm's name.
_acted_at: Any = ministack.scoped_store()


def _create_target(logical_id: str, properties: dict[str, Any], stack: str) -> Provisioned:
    resource_id, dimension = properties["ResourceId"], properties["ScalableDimension"]
    wanted = _DIMENSIONS.get(resource_id.split("/")[0])
    if (properties["ServiceNamespace"], dimension) != ("sagemaker", wanted):
        raise ValueError(f"The local cloud scales {resource_id} by sagemaker {wanted} only, not {dimension}.")
    resource = _resources().get(resource_id)
    if resource is None:
        raise ValueError(f"SageMaker endpoint, variant or inference component not found: {resource_id}")
    minimum, maximum = int(properties["MinCapacity"]), int(properties["MaxCapacity"])
    if minimum > maximum:
        raise ValueError("Maximum capacity cannot be less than minimum capacity")
    if minimum < 1 and isinstance(resource, Endpoint) and not resource.queue:
        raise ValueError(f"Minimum capacity must be at least 1: {resource_id} is not an asynchronous endpoint")
    target = _target_of(resource) or ScalableTarget(resource)
    target.set_limits(minimum, maximum)
    target.set_schedule(read_actions(properties.get("ScheduledActions") or []))
    resource.scalable_target = target
    physical_id = f"{resource_id}|{dimension}|sagemaker"
    return physical_id, {"Id": physical_id}


def _resources() -> dict[str, Scalable]:
    """What can be scaled in this account and region, by its resource id."""
    found: dict[str, Scalable] = {f"inference-component/{each.name}": each for each in list(components.values())}
    for each in list(endpoints.values()):
        if isinstance(each, Endpoint):
            found[f"endpoint/{each.name}/variant/{each.variant['VariantName']}"] = each
    return found


def _target_of(resource: Scalable | None) -> ScalableTarget | None:
    target = resource.scalable_target if resource else None
    return target if isinstance(target, ScalableTarget) else None


def _update_target(physical_id: str, old: dict[str, Any], new: dict[str, Any], stack: str) -> Provisioned:
    return _create_target("", new, stack)


def _delete_target(physical_id: str, properties: dict[str, Any]) -> None:
    if resource := _resources().get(properties["ResourceId"]):
        resource.scalable_target = None


def _create_policy(logical_id: str, properties: dict[str, Any], stack: str) -> Provisioned:
    resource_id = properties["ScalingTargetId"].split("|")[0]
    policy = f"{uuid.uuid4()}:resource/sagemaker/{resource_id}:policyName/{properties['PolicyName']}"
    arn = f"arn:aws:autoscaling:{ministack.region()}:{ministack.account_id()}:scalingPolicy:{policy}"
    return _update_policy(arn, {}, properties, stack)


def _update_policy(arn: str, old: dict[str, Any], new: dict[str, Any], stack: str) -> Provisioned:
    resource_id = new["ScalingTargetId"].split("|")[0]
    _policies[arn] = _Policy(resource_id, _configuration(new, resource_id))
    return arn, {"Arn": arn}


def _delete_policy(arn: str, properties: dict[str, Any]) -> None:
    _policies.pop(arn, None)


def _configuration(policy: dict[str, Any], resource_id: str) -> TargetTracking | StepScaling:
    kind = policy.get("PolicyType")
    if kind == "TargetTrackingScaling":
        return TargetTracking(policy["TargetTrackingScalingPolicyConfiguration"], resource_id)
    if kind == "StepScaling":
        return StepScaling(policy["StepScalingPolicyConfiguration"])
    raise ValueError(f"PolicyType: the local cloud knows TargetTrackingScaling and StepScaling, not {kind}.")


def _follow_policies() -> None:
    for account, region in {(account, region) for account, region, _ in ministack.in_all_scopes(endpoints)}:
        with ministack.scope(account, region):
            _follow_alarms()
            for resource_id, resource in _resources().items():
                if target := _target_of(resource):
                    target.follow_schedule()
                    mine = [each.configuration for each in _policies.values() if each.resource_id == resource_id]
                    target.track([policy for policy in mine if isinstance(policy, TargetTracking)])


def _follow_alarms() -> None:
    on = {alarm["AlarmName"]: alarm for alarm in cloudwatch.alarms_that_are_on()}
    for name in set(_acted_at.keys()) - on.keys():
        _acted_at.pop(name, None)
    for name, alarm in on.items():
        actions = [arn for arn in alarm["AlarmActions"] if arn in _policies] if alarm["ActionsEnabled"] else []
        if actions and time.time() >= _acted_at.get(name, 0.0) + clock.shortened(_ACTION_INTERVAL_IN_SECONDS):
            _acted_at[name] = time.time()
            for arn in actions:
                _step(_policies[arn], alarm)


def _step(policy: _Policy, alarm: dict[str, Any]) -> None:
    target, steps = _target_of(_resources().get(policy.resource_id)), policy.configuration
    if target is None or not isinstance(steps, StepScaling):
        return
    metric = alarm | {"Statistic": steps.statistic, "ExtendedStatistic": None}
    values = cloudwatch.values_of_periods(metric, alarm["Period"], alarm["EvaluationPeriods"])
    value = next((value for value in values if value is not None), None)
    if value is not None:
        above = value - alarm["Threshold"]
        target.step(lambda capacity: steps.wanted_from(capacity, above), steps.cooldown)


def install() -> None:
    clock.repeat(_follow_policies, clock.shortened(_LOOK_INTERVAL_IN_SECONDS))
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
        replaced_by=("PolicyName", "ScalingTargetId"),
    )
