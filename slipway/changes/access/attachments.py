"""The subject of each policy: the identity that it is attached to, or the resource that it guards."""

from collections.abc import Iterator
from typing import Any

from slipway.changes.access.policies import documents
from slipway.changes.template.resources import Resource, Resources
from slipway.changes.template.values import as_list, logical_id_in, shown

ROLE = "AWS::IAM::Role"
_POLICY = "AWS::IAM::Policy"
_ATTACHED = ("Roles", "Users", "Groups")
_GUARDED_BY = {
    "AWS::S3::BucketPolicy": "Bucket",
    "AWS::SQS::QueuePolicy": "Queues",
    "AWS::SNS::TopicPolicy": "Topics",
    "AWS::Lambda::Permission": "FunctionName",
}
"""Types of policies that guard another resource, with the property that names it."""
_OTHER_POLICIES = ("Policy", "Permission")  # the endings of other such types


def policies(resource: Resource, resources: Resources) -> Iterator[tuple[str, Any, str]]:
    """Each policy document of the resource, with its subject and its property.

    The subject is "by <identity>" or "to <guarded resource>".
    """
    properties, own = resource.properties, "${" + resource.logical_id + "}"
    if resource.type == ROLE:
        for policy in as_list(properties.get("Policies", [])):
            if isinstance(policy, dict) and "PolicyDocument" in policy:
                yield f"by {own}", policy["PolicyDocument"], "Policies"
        if "AssumeRolePolicyDocument" in properties:
            yield f"to {own}", properties["AssumeRolePolicyDocument"], "AssumeRolePolicyDocument"
    elif resource.type == _POLICY:
        for subject in _identities(resource, resources) or [own]:
            yield f"by {subject}", properties.get("PolicyDocument"), "PolicyDocument"
    else:
        for path, document in guarding(resource):
            for subject in guarded(resource):
                yield f"to {subject}", document, path


def guarding(resource: Resource) -> Iterator[tuple[str, Any]]:
    """Each document that says who may use a resource, with its property."""
    if "Principal" in resource.properties:
        yield "Principal", _permission(resource)
    else:
        yield from documents(resource.properties)


def guarded(resource: Resource) -> list[str]:
    """The resources that the resource's policy guards; `${Function.Arn}` is the same as `${Function}`."""
    if resource.type not in _GUARDED_BY:
        is_policy_of_another = resource.type.endswith(_OTHER_POLICIES)
        return [
            f"the resource behind {resource.logical_id}" if is_policy_of_another else "${" + resource.logical_id + "}"
        ]
    names = [shown(each) for each in as_list(resource.properties.get(_GUARDED_BY[resource.type], []))]
    found = ["${" + logical_id_in(each) + "}" if logical_id_in(each) else each for each in names]
    return found or ["${" + resource.logical_id + "}"]


def managed_policies(resource: Resource) -> list[str]:
    """The ARNs of the managed policies of a role, a user or a group."""
    return [shown(each) for each in as_list(resource.properties.get("ManagedPolicyArns", [])) if each != ""]


def _identities(policy: Resource, resources: Resources) -> list[str]:
    """The roles, users and groups that the policy is attached to."""
    found = [shown(each) for key in _ATTACHED for each in as_list(policy.properties.get(key, []))]
    return [_by_logical_id(each, resources) for each in found]


def _by_logical_id(name: str, resources: Resources) -> str:
    """The reference to the role with that RoleName; the name itself if no role has it."""
    for each in resources.values():
        if each.type == ROLE and name == each.properties.get("RoleName"):
            return "${" + each.logical_id + "}"
    return name


_PERMISSION_CONDITIONS = {
    "SourceArn": ("ArnLike", "aws:SourceArn"),
    "SourceAccount": ("StringEquals", "aws:SourceAccount"),
    "PrincipalOrgID": ("StringEquals", "aws:PrincipalOrgID"),
    "EventSourceToken": ("StringEquals", "lambda:EventSourceToken"),
    "FunctionUrlAuthType": ("StringEquals", "lambda:FunctionUrlAuthType"),
    "InvokedViaFunctionUrl": ("Bool", "lambda:InvokedViaFunctionUrl"),
}


def _permission(resource: Resource) -> dict[str, Any]:
    """The policy that Lambda writes for a permission."""
    properties = resource.properties
    principal = properties.get("Principal", "*")
    is_service = isinstance(principal, str) and "." in principal and not principal.startswith("arn:")
    condition: dict[str, Any] = {}
    for name, (operator, key) in _PERMISSION_CONDITIONS.items():
        if name in properties:
            condition.setdefault(operator, {})[key] = properties[name]
    return {
        "Statement": {
            "Effect": "Allow",
            "Principal": principal if principal == "*" else {"Service" if is_service else "AWS": principal},
            "Action": properties.get("Action", "*"),
            "Resource": "*",
            "Condition": condition,
        }
    }
