"""Whose policies they are: the identity that each is attached to, or the resource that it guards."""

from collections.abc import Iterator
from typing import Any

from slipway.changes.policies import as_list, documents, logical_id_in, shown
from slipway.changes.resources import Resource

Resources = dict[str, Resource]

IDENTITIES = ("AWS::IAM::Role", "AWS::IAM::User", "AWS::IAM::Group", "AWS::SSO::PermissionSet")
_ATTACHED = ("Roles", "Users", "Groups")
_NAMES = ("RoleName", "UserName", "GroupName")
_IDENTITY_POLICIES = (
    "AWS::IAM::Policy",
    "AWS::IAM::ManagedPolicy",
    "AWS::IAM::RolePolicy",
    "AWS::IAM::UserPolicy",
    "AWS::IAM::GroupPolicy",
)
IAM_TYPES = (*IDENTITIES, *_IDENTITY_POLICIES, "AWS::IAM::UserToGroupAddition")
_GUARDED_BY = {
    "AWS::S3::BucketPolicy": "Bucket",
    "AWS::SQS::QueuePolicy": "Queues",
    "AWS::SQS::QueueInlinePolicy": "Queue",
    "AWS::SNS::TopicPolicy": "Topics",
    "AWS::SNS::TopicInlinePolicy": "TopicArn",
    "AWS::SecretsManager::ResourcePolicy": "SecretId",
    "AWS::Lambda::Permission": "FunctionName",
    "AWS::Lambda::LayerVersionPermission": "LayerVersionArn",
    "AWS::Events::EventBusPolicy": "EventBusName",
    "AWS::Kinesis::ResourcePolicy": "ResourceArn",
}
"""Policies that are resources of their own: the property that names what they guard."""


def policies(resource: Resource, resources: Resources) -> Iterator[tuple[str, Any, str]]:
    """Each policy document of the resource: "by <identity>" or "to <guarded resource>", the document, its property."""
    properties, own = resource.properties, "${" + resource.logical_id + "}"
    if resource.type in IDENTITIES:
        for policy in as_list(properties.get("Policies", [])):
            if isinstance(policy, dict) and "PolicyDocument" in policy:
                yield f"by {own}", policy["PolicyDocument"], "Policies"
        if "InlinePolicy" in properties:
            yield f"by {own}", properties["InlinePolicy"], "InlinePolicy"
        if "AssumeRolePolicyDocument" in properties:
            yield f"to {own}", properties["AssumeRolePolicyDocument"], "AssumeRolePolicyDocument"
    elif resource.type in _IDENTITY_POLICIES:
        for whose in _identities(resource, resources) or [own]:
            yield f"by {whose}", properties.get("PolicyDocument"), "PolicyDocument"
    else:
        for path, document in guarding(resource):
            for whose in guarded(resource):
                yield f"to {whose}", document, path


def guarding(resource: Resource) -> Iterator[tuple[str, Any]]:
    """Each policy that says who may come to a resource, and its property."""
    if resource.type in ("AWS::Lambda::Permission", "AWS::Lambda::LayerVersionPermission"):
        yield "Principal", _permission(resource)
    elif resource.type == "AWS::Events::EventBusPolicy" and "Principal" in resource.properties:
        yield "Principal", _permission(resource)  # the form without a Statement
    else:
        yield from documents(resource.properties)


def guarded(resource: Resource) -> list[str]:
    """What the resource's policy guards: `${Function.Arn}` and `${Function}` are the same function."""
    key = _GUARDED_BY.get(resource.type)
    names = [shown(each) for each in as_list(resource.properties.get(key, []))] if key else []
    found = ["${" + logical_id_in(each) + "}" if logical_id_in(each) else each for each in names]
    return found or ["${" + resource.logical_id + "}"]


def attached(resource: Resource, resources: Resources) -> Iterator[tuple[str, str, str]]:
    """Each policy or group whose text is not beside it: whose, its name, the property."""
    own = "by ${" + resource.logical_id + "}"
    if resource.type in IDENTITIES:
        for key in ("ManagedPolicyArns", "ManagedPolicies"):
            for each in as_list(resource.properties.get(key, [])):
                if each != "" and logical_id_in(shown(each)) not in resources:
                    yield own, shown(each), key
    if resource.type == "AWS::IAM::User":
        for group in as_list(resource.properties.get("Groups", [])):
            yield own, f"the group {_by_logical_id(shown(group), resources)}", "Groups"
    if resource.type == "AWS::IAM::OIDCProvider":
        for client in as_list(resource.properties.get("ClientIdList", [])):
            yield "to" + own[2:], f"a token for {shown(client)}", "ClientIdList"
    if resource.type == "AWS::IAM::UserToGroupAddition":
        group = _by_logical_id(shown(resource.properties.get("GroupName")), resources)
        for user in as_list(resource.properties.get("Users", [])):
            yield f"by {_by_logical_id(shown(user), resources)}", f"the group {group}", "Users"


def _identities(policy: Resource, resources: Resources) -> list[str]:
    """Whom the policy is attached to, by either side."""
    found = [shown(each) for key in _ATTACHED for each in as_list(policy.properties.get(key, []))]
    found += [shown(policy.properties[key]) for key in _NAMES if key in policy.properties]
    for other in resources.values():
        arns = as_list(other.properties.get("ManagedPolicyArns", []))
        if other.type in IDENTITIES and any(logical_id_in(shown(each)) == policy.logical_id for each in arns):
            found.append("${" + other.logical_id + "}")
    return [_by_logical_id(each, resources) for each in found]


def _by_logical_id(name: str, resources: Resources) -> str:
    """A role that is named by its RoleName in place of a reference."""
    for each in resources.values():
        if each.type in IDENTITIES and name in [each.properties.get(key) for key in _NAMES]:
            return "${" + each.logical_id + "}"
    return name


_PERMISSION_CONDITIONS = {
    "SourceArn": ("ArnLike", "aws:SourceArn"),
    "SourceAccount": ("StringEquals", "aws:SourceAccount"),
    "PrincipalOrgID": ("StringEquals", "aws:PrincipalOrgID"),
    "OrganizationId": ("StringEquals", "aws:PrincipalOrgID"),
    "EventSourceToken": ("StringEquals", "lambda:EventSourceToken"),
    "FunctionUrlAuthType": ("StringEquals", "lambda:FunctionUrlAuthType"),
    "InvokedViaFunctionUrl": ("Bool", "lambda:InvokedViaFunctionUrl"),
}


def _permission(resource: Resource) -> dict[str, Any]:
    """The statement that AddPermission, or PutPermission of an event bus, makes of it."""
    properties = resource.properties
    principal = properties.get("Principal", "*")
    is_service = isinstance(principal, str) and "." in principal and not principal.startswith("arn:")
    condition: dict[str, Any] = {}
    for name, (operator, key) in _PERMISSION_CONDITIONS.items():
        if name in properties:
            condition.setdefault(operator, {})[key] = properties[name]
    given = properties.get("Condition")
    if isinstance(given, dict) and isinstance(given.get("Type"), str):
        condition[given["Type"]] = {shown(given.get("Key")): given.get("Value")}
    return {
        "Statement": {
            "Effect": "Allow",
            "Principal": principal if principal == "*" else {"Service" if is_service else "AWS": principal},
            "Action": properties.get("Action", "*"),
            "Resource": "*",
            "Condition": condition,
        }
    }
