"""Each role of a template: who assumes it, what it may do and why."""

from collections.abc import Iterator
from typing import Any

from slipway.changes.access.attachments import ROLE, managed_policies, policies
from slipway.changes.access.grants import Condition, Grant
from slipway.changes.access.policies import grants_of
from slipway.changes.access.roles import acting_roles
from slipway.changes.template.resources import Resources
from slipway.changes.template.values import logical_id_in, shown
from slipway.evidence.evidence import Permission, RoleEvidence
from slipway.evidence.names import plain, short
from slipway.evidence.reasons import reason_for, role_of

_EXPORT = "Fn::ImportValue"
_OPERATORS = {
    "ArnEquals": "is",
    "ArnNotEquals": "is not",
    "ArnLike": "is like",
    "Bool": "is",
    "IpAddress": "is in",
    "NotIpAddress": "is not in",
    "NotIpAddressIfExists": "is not in",
    "StringEquals": "is",
    "StringEqualsIfExists": "is, if the request has it,",
    "StringLike": "is like",
    "StringNotEquals": "is not",
    "StringNotEqualsIfExists": "is not",
}


def roles_of(resources: Resources) -> tuple[RoleEvidence, ...]:
    """Return the roles of a template, and those of other stacks to which it attaches policies, by their titles."""
    documents: dict[str, list[Any]] = {"${" + name + "}": [] for name, each in resources.items() if each.type == ROLE}
    for resource in resources.values():
        for subject, document, _ in policies(resource, resources):
            if subject.startswith("by "):
                documents.setdefault(subject[3:], []).append(document)
    found = [_role(subject, many, resources) for subject, many in documents.items()]
    return tuple(sorted(found, key=lambda each: (each.title, each.name)))


def _role(subject: str, documents: list[Any], resources: Resources) -> RoleEvidence:
    logical_id = logical_id_in(subject)
    resource, name = resources.get(logical_id), short(logical_id) or plain(subject)
    is_shared = _EXPORT in subject or (name == "Role" and _makes_an_empty_endpoint(resources))
    role = role_of("SharedEndpointRole" if is_shared else logical_id)
    used_by = sorted(
        f"{each.type.removeprefix('AWS::')} {short(each.logical_id)}"
        for each in resources.values()
        if each.logical_id != logical_id and subject in acting_roles(each, resources)
    )
    return RoleEvidence(
        name,
        role.title if role else name,
        tuple(used_by),
        tuple(_assumed_by(resource.properties.get("AssumeRolePolicyDocument")))
        if resource
        else ("another stack says",),
        plain(shown(resource.properties.get("PermissionsBoundary", ""))) if resource else "",
        tuple(map(plain, managed_policies(resource))) if resource else (),
        tuple(_permissions(role.name if role else "", documents)),
    )


def _makes_an_empty_endpoint(resources: Resources) -> bool:
    """Whether the template is that of a shared endpoint, on which other stacks put their models."""
    types = {each.type for each in resources.values()}
    return "AWS::SageMaker::Endpoint" in types and "AWS::SageMaker::Model" not in types


def _assumed_by(document: Any) -> Iterator[str]:
    for grant in sorted(grants_of(document), key=str):
        condition = condition_in_words(grant)
        yield principal_in_words(grant.principal) + (f", if {condition}" if condition else "")


def principal_in_words(principal: str) -> str:
    """Return a principal, such as `Service:lambda.amazonaws.com`, in words."""
    if principal in ("*", ""):
        return "everybody"
    if principal == "AWS:${AWS::AccountId}":
        return "each principal of this account that its own permissions let"
    kind, _, name = principal.partition(":")
    words = {"Service": "the service", "AWS": "the AWS principal", "Federated": "the identity provider"}
    return f"{words.get(kind, kind)} {plain(name)}"


def condition_in_words(grant: Grant) -> str:
    """Return the conditions of a grant in words; "" if there are none."""
    return " and ".join(_condition(each) for each in sorted(grant.conditions))


def _condition(condition: Condition) -> str:
    operator, key, values = condition
    return f"{key} {_OPERATORS.get(operator, operator)} {' or '.join(map(plain, values))}".strip()


def _permissions(role: str, documents: list[Any]) -> Iterator[Permission]:
    """Yield one permission for all actions on the same resource, under the same condition and for the same reason."""
    together: dict[tuple[str, str, str, str], set[str]] = {}
    for effect in ("Allow", "Deny"):
        for grant in {grant for document in documents for grant in grants_of(document, effect)}:
            resource = plain(grant.resource)
            row = reason_for(role, grant.action, resource)
            key = effect, resource, condition_in_words(grant), row.why if row else ""
            together.setdefault(key, set()).add(grant.action)
    rows = [(sorted(actions), *key) for key, actions in together.items()]
    for actions, effect, resource, condition, why in sorted(rows):
        yield Permission(effect, tuple(actions), resource, condition, why)
