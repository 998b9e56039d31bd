"""Wider permissions: what a role, or whoever a resource's policy names, may do after an update and may not before."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from slipway.changes.policies import Grant, as_list, grants_of, is_policy, shown
from slipway.changes.resources import Resource

_IDENTITIES = ("AWS::IAM::Role", "AWS::IAM::User", "AWS::IAM::Group", "AWS::SSO::PermissionSet")
_ATTACHED = {"Roles": "AWS::IAM::Role", "Users": "AWS::IAM::User", "Groups": "AWS::IAM::Group"}
_ATTACHED_ONE = {"RoleName": "AWS::IAM::Role", "UserName": "AWS::IAM::User", "GroupName": "AWS::IAM::Group"}
_IDENTITY_POLICIES = (
    "AWS::IAM::Policy",
    "AWS::IAM::ManagedPolicy",
    "AWS::IAM::RolePolicy",
    "AWS::IAM::UserPolicy",
    "AWS::IAM::GroupPolicy",
)
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
_ROLE_OF = ("Role", "RoleArn", "ExecutionRoleArn", "TaskRoleArn", "ServiceRoleArn", "IamInstanceProfile")


@dataclass
class _Allowed:
    """What one identity or one guarded resource is allowed, or allows.

    sources: the resource and the property which say so. attached: managed policies whose text is not in the template.
    """

    grants: dict[Grant, tuple[Resource, str]] = field(default_factory=dict)
    denials: dict[Grant, tuple[Resource, str]] = field(default_factory=dict)
    attached: dict[str, tuple[Resource, str]] = field(default_factory=dict)

    def add(self, document: Any, resource: Resource, path: str) -> None:
        """The statements of a policy document."""
        self.grants |= dict.fromkeys(grants_of(document), (resource, path))
        self.denials |= dict.fromkeys(grants_of(document, "Deny"), (resource, path))
        if not is_policy(document):
            self.attached[f"a policy that is known only on AWS: {shown(document)}"] = (resource, path)


@dataclass(frozen=True)
class Widened:
    """A sentence on one resource's property."""

    resource: Resource
    property: str
    sentence: str


def widened(before: dict[str, Resource], after: dict[str, Resource]) -> list[Widened]:
    """Everything that becomes allowed of what both templates have; a new role with its first grants is not wider."""
    allowed, now = _all_allowed(before), _all_allowed(after)
    found: list[Widened] = []
    for whose in now:
        name = whose.removeprefix("to ").removeprefix("by ")
        if _exists(name, before):
            found += _wider(whose, allowed.get(whose, _Allowed()), now[whose])
    for whose, old in allowed.items():
        if _exists(whose.removeprefix("to ").removeprefix("by "), after):
            found += _denials_gone(whose, old, now.get(whose, _Allowed()), after)
    return [*found, *_boundaries_gone(before, after), *_other_roles(before, after, allowed, now)]


def _exists(name: str, resources: dict[str, Resource]) -> bool:
    """A name that is no resource of the template stands for something outside, which is there already."""
    logical_id = logical_id_in(name)
    return not logical_id or logical_id in resources or logical_id.startswith("AWS::")


def logical_id_in(name: str) -> str:
    """Of `${Bucket}` or `${Bucket.Arn}`; '' for other texts."""
    return name[2:-1].split(".")[0] if name.startswith("${") and name.endswith("}") and name.count("${") == 1 else ""


def _wider(whose: str, old: _Allowed, new: _Allowed) -> Iterator[Widened]:
    extra: dict[tuple[str, str], list[Grant]] = {}
    for grant, (resource, path) in new.grants.items():
        if not any(each.covers(grant) for each in old.grants):
            extra.setdefault((resource.logical_id, path), []).append(grant)
    for (_, path), grants in extra.items():
        resource = new.grants[grants[0]][0]
        yield Widened(resource, path, f"{_subject(whose)} now allowed: {_listed(grants)}")
    for name, (resource, path) in new.attached.items():
        if name not in old.attached:
            yield Widened(resource, path, f"{_subject(whose)} now allowed what {name} allows")


def _denials_gone(whose: str, old: _Allowed, new: _Allowed, after: dict[str, Resource]) -> Iterator[Widened]:
    gone = [grant for grant in old.denials if not any(each.covers(grant) for each in new.denials)]
    if gone:
        resource, path = old.denials[gone[0]]
        yield Widened(resource, path, f"{_subject(whose)} no longer denied: {_listed(gone)}")


def _subject(whose: str) -> str:
    name = logical_id_in(whose[3:]) or whose[3:]
    return {"by ": f"{name} is", "to ": f"By the policy of {name},"}[whose[:3]]


def _listed(grants: list[Grant]) -> str:
    texts = sorted(map(str, grants))
    return "; ".join(texts[:3]) + (f"; and {len(texts) - 3} more" if len(texts) > 3 else "")


def _all_allowed(resources: dict[str, Resource]) -> dict[str, _Allowed]:
    """By "by <identity>" and "to <resource>"."""
    found: dict[str, _Allowed] = {}
    for resource in resources.values():
        for whose, document, path in _policies(resource, resources):
            found.setdefault(whose, _Allowed()).add(document, resource, path)
        for whose, name, path in _managed(resource, resources):
            found.setdefault(whose, _Allowed()).attached[name] = (resource, path)
    return found


def _policies(resource: Resource, resources: dict[str, Resource]) -> Iterator[tuple[str, Any, str]]:
    """Each policy document of the resource: whose it is, the document and its property."""
    properties, own = resource.properties, "${" + resource.logical_id + "}"
    if resource.type in _IDENTITIES:
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
    elif resource.type in ("AWS::Lambda::Permission", "AWS::Lambda::LayerVersionPermission"):
        yield f"to {_guarded(resource, own)[0]}", _permission(resource), "Principal"
    else:
        for path, document in documents(properties):
            for whose in _guarded(resource, own):
                yield f"to {whose}", document, path


def _identities(policy: Resource, resources: dict[str, Resource]) -> list[str]:
    """Whom the policy is attached to, by either side."""
    found = [shown(each) for key in _ATTACHED for each in as_list(policy.properties.get(key, []))]
    found += [shown(policy.properties[key]) for key in _ATTACHED_ONE if key in policy.properties]
    for other in resources.values():
        arns = other.properties.get("ManagedPolicyArns", [])
        if other.type in _IDENTITIES and {"Ref": policy.logical_id} in as_list(arns):
            found.append("${" + other.logical_id + "}")
    return [_by_logical_id(each, resources) for each in found]


def _by_logical_id(name: str, resources: dict[str, Resource]) -> str:
    """A role that is named by its RoleName in place of a reference."""
    for each in resources.values():
        if each.type in _IDENTITIES and name in [each.properties.get(key) for key in _ATTACHED_ONE]:
            return "${" + each.logical_id + "}"
    return name


def _managed(resource: Resource, resources: dict[str, Resource]) -> Iterator[tuple[str, str, str]]:
    """Each attached managed policy that the template does not hold: whose, its ARN, the property."""
    if resource.type not in _IDENTITIES:
        return
    for key in ("ManagedPolicyArns", "ManagedPolicies"):
        for each in as_list(resource.properties.get(key, [])):
            if logical_id_in(shown(each)) not in resources:
                yield "by ${" + resource.logical_id + "}", shown(each), key


def _guarded(resource: Resource, own: str) -> list[str]:
    key = _GUARDED_BY.get(resource.type)
    names = [shown(each) for each in as_list(resource.properties.get(key, []))] if key else []
    # `${Function.Arn}` and `${Function}` are the same function.
    return ["${" + logical_id_in(each) + "}" if logical_id_in(each) else each for each in names] or [own]


def documents(value: Any, path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Every policy document in the properties, by its path."""
    if isinstance(value, list):
        for each in value:
            yield from documents(each, path)
    elif is_policy(value):
        yield path, value
    elif isinstance(value, dict):
        for key, each in value.items():
            yield from documents(each, f"{path}.{key}" if path else key)


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
    """The statement that AddPermission makes of it."""
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


def permission_document(resource: Resource) -> dict[str, Any] | None:
    """Of a Lambda permission, the policy that it stands for."""
    is_permission = resource.type in ("AWS::Lambda::Permission", "AWS::Lambda::LayerVersionPermission")
    return _permission(resource) if is_permission else None


def _boundaries_gone(before: dict[str, Resource], after: dict[str, Resource]) -> Iterator[Widened]:
    for name, resource in after.items():
        if resource.type not in _IDENTITIES or name not in before:
            continue
        old, new = (each.properties.get("PermissionsBoundary") for each in (before[name], resource))
        if old is not None and old != new:
            said = f"another one, {shown(new)}" if new is not None else "none"
            yield Widened(
                resource, "PermissionsBoundary", f"{name} had the permissions boundary {shown(old)} and has {said}"
            )


def _other_roles(
    before: dict[str, Resource], after: dict[str, Resource], allowed: dict[str, _Allowed], now: dict[str, _Allowed]
) -> Iterator[Widened]:
    """A resource that acts as another role, which may do more than the one before."""
    for name, resource in after.items():
        old = before.get(name)
        for key in _ROLE_OF:
            if old is None or key not in resource.properties or key not in old.properties:
                continue
            one, other = (logical_id_in(shown(each.properties[key])) for each in (old, resource))
            if one == other:
                continue
            was, becomes = (shown(each.properties[key]) for each in (old, resource))
            if one in before and other in after:
                first, second = allowed.get("by ${" + one + "}"), now.get("by ${" + other + "}")
                wider = list(_wider(f"by {becomes}", first or _Allowed(), second or _Allowed()))
                for each in wider:
                    yield Widened(resource, key, f"{name} acts as {other} in place of {one}: {each.sentence}")
            elif was != becomes:
                said = f"{name} acts as {becomes} in place of {was}, of which the template does not say what it may do"
                yield Widened(resource, key, said)
