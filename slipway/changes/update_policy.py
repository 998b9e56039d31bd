"""The UpdatePolicy of an Auto Scaling group: what becomes of the group when what it launches changes.

Source: UpdatePolicy attribute, CloudFormation's template reference. Without a policy the group is updated in place and
its instances stay as they are.
"""

from slipway.changes.resources import Resource

_GROUP = "AWS::AutoScaling::AutoScalingGroup"
_ROLLED = ("LaunchConfigurationName", "LaunchTemplate", "MixedInstancesPolicy", "PlacementGroup", "VPCZoneIdentifier")


def rolled_properties(resource_type: str) -> tuple[str, ...]:
    """Properties whose change the policy decides about."""
    return _ROLLED if resource_type == _GROUP else ()


def replaces_group(resource: Resource) -> bool | None:
    """Whether a new group takes the place of the old one; None = known only on AWS."""
    policy = resource.update_policy.get("AutoScalingReplacingUpdate")
    will = policy.get("WillReplace", "false") if isinstance(policy, dict) else "false"
    return {"true": True, "false": False}.get(will) if isinstance(will, str) else None


def rolls(resource: Resource) -> bool:
    """Whether the instances are replaced, some at a time."""
    return "AutoScalingRollingUpdate" in resource.update_policy
