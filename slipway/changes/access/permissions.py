"""Permissions that an update widens, of a role or of the principals of a resource's policy."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from slipway.changes.access.attachments import managed_policies, policies
from slipway.changes.access.grants import Grant
from slipway.changes.access.policies import grants_of, is_policy
from slipway.changes.access.roles import acting_roles
from slipway.changes.template.resources import Resource, Resources
from slipway.changes.template.values import as_list, logical_id_in, shown

_Place = tuple[Resource, str]  # the resource and the property that grant it
_EVERYTHING = ":iam::aws:policy/AdministratorAccess"


@dataclass
class _Allowed:
    """What is allowed to one identity, or on one guarded resource.

    attached: managed policies, which are only known by their ARN.
    """

    grants: dict[Grant, _Place] = field(default_factory=dict)
    denials: dict[Grant, _Place] = field(default_factory=dict)
    attached: dict[str, _Place] = field(default_factory=dict)

    def add(self, document: Any, resource: Resource, path: str) -> None:
        """Add the statements of a policy document."""
        self.grants |= dict.fromkeys(grants_of(document), (resource, path))
        self.denials |= dict.fromkeys(grants_of(document, "Deny"), (resource, path))
        if not is_policy(document) and document not in ("", {}, {"Statement": []}):
            self.attached[f"a policy that only AWS knows, {shown(document)[:60]}"] = (resource, path)

    def __or__(self, other: "_Allowed") -> "_Allowed":
        return _Allowed(self.grants | other.grants, self.denials | other.denials, self.attached | other.attached)


@dataclass(frozen=True)
class Widened:
    """A permission that becomes wider, by a property of a resource."""

    resource: Resource
    property: str
    sentence: str


def widened(before: Resources, after: Resources) -> list[Widened]:
    """The permissions that an update widens, of resources that both templates hold.

    The grants of a new role, and those on a new resource, are part of what is new.
    """
    allowed, now = _all_allowed(before), _all_allowed(after)
    new = after.keys() - before.keys()
    found: list[Widened] = []
    for subject in now:
        if logical_id_in(subject[3:]) not in new:
            found += _wider(subject, allowed.get(subject, _Allowed()), now[subject], new)
    for subject, old in allowed.items():
        name = logical_id_in(subject[3:])
        if name not in before or name in after:  # in neither template: it is outside the stack and stays
            found += _denials_gone(subject, old, now.get(subject, _Allowed()))
    return [*found, *_boundaries_gone(before, after), *_other_roles(before, after, allowed, now, new)]


def _wider(subject: str, old: _Allowed, new: _Allowed, added: set[str]) -> Iterator[Widened]:
    if any(each.endswith(_EVERYTHING) for each in old.attached):
        return
    extra: dict[tuple[str, str], list[Grant]] = {}
    for grant, (resource, path) in new.grants.items():
        if not any(each.covers(grant) for each in old.grants) and not _is_of_something_new(grant, added):
            extra.setdefault((resource.logical_id, path), []).append(grant)
    for (_, path), grants in extra.items():
        resource = new.grants[grants[0]][0]
        yield Widened(resource, path, f"{_in_words(subject)} now allowed: {_listed(grants)}")
    for name, (resource, path) in new.attached.items():
        if name not in old.attached:
            yield Widened(resource, path, f"{_in_words(subject)} now allowed what {name} allows")


def _is_of_something_new(grant: Grant, added: set[str]) -> bool:
    """Whether the grant is on a resource, to a role or for a source that the same update adds."""
    if _names_one_of(grant.resource, added) or _names_one_of(grant.principal.removeprefix("AWS:"), added):
        return True
    return any(
        key == "aws:sourcearn" and "Not" not in operator and all(_names_one_of(each, added) for each in values)
        for operator, key, values in grant.conditions
    ) and grant.principal.startswith("Service:")


def _names_one_of(text: str, added: set[str]) -> bool:
    """Whether the text names an added resource, as `${New.Arn}` or in an ARN."""
    names = {each.split("}")[0].split(".")[0] for each in text.split("${")[1:]}
    return bool(names & added)


def _denials_gone(subject: str, old: _Allowed, new: _Allowed) -> Iterator[Widened]:
    """Denials that an update removes, except where nothing allows the identity what they denied."""
    gone = [grant for grant in old.denials if not any(each.covers(grant) for each in new.denials)]
    if subject.startswith("by ") and not new.attached:
        gone = [grant for grant in gone if any(each.overlaps(grant) for each in new.grants)]
    if gone:
        resource, path = old.denials[gone[0]]
        yield Widened(resource, path, f"{_in_words(subject)} no longer denied: {_listed(gone)}")


def _in_words(subject: str) -> str:
    name = logical_id_in(subject[3:]) or subject[3:]
    return {"by ": f"{name} is", "to ": f"By the policy of {name},"}[subject[:3]]


def _listed(grants: list[Grant]) -> str:
    texts = [each if len(each) <= 200 else f"{each[:197]}..." for each in sorted(map(str, grants))]
    return "; ".join(texts[:3]) + (f"; and {len(texts) - 3} more" if len(texts) > 3 else "")


def _all_allowed(resources: Resources) -> dict[str, _Allowed]:
    """What is allowed, by subject: "by <identity>" or "to <resource>"."""
    found: dict[str, _Allowed] = {}
    for resource in resources.values():
        for subject, document, path in policies(resource, resources):
            for each in as_list(document):
                found.setdefault(subject, _Allowed()).add(each, resource, path)
        for name in managed_policies(resource):
            own = "by ${" + resource.logical_id + "}"
            found.setdefault(own, _Allowed()).attached[name] = (resource, "ManagedPolicyArns")
    return found


def _boundaries_gone(before: Resources, after: Resources) -> Iterator[Widened]:
    for name, resource in after.items():
        if name not in before:
            continue
        old, new = (each.properties.get("PermissionsBoundary") for each in (before[name], resource))
        if old is not None and old != new:
            said = f"another one, {shown(new)}" if new is not None else "none"
            yield Widened(
                resource, "PermissionsBoundary", f"{name} had the permissions boundary {shown(old)} and has {said}"
            )


def _other_roles(
    before: Resources, after: Resources, allowed: dict[str, _Allowed], now: dict[str, _Allowed], added: set[str]
) -> Iterator[Widened]:
    """Resources that act as a new role which may do more than all their roles before together."""
    for name in after.keys() & before.keys():
        was, acts = acting_roles(before[name], before), acting_roles(after[name], after)
        old = _Allowed()
        for each in was:
            old |= allowed.get(f"by {each}", _Allowed())
        instead = f" in place of {', '.join(map(_short, was))}" if was else ""
        for role, path in acts.items():
            if role in was:
                continue
            said = f"{name} acts as {_short(role)}{instead}"
            if logical_id_in(role) not in after:
                yield Widened(after[name], path, f"{said}, and the template does not say what that role may do")
                continue
            for wider in _wider(f"by {role}", old, now.get(f"by {role}", _Allowed()), added):
                yield Widened(after[name], path, f"{said}: {wider.sentence}")


def _short(role: str) -> str:
    return logical_id_in(role) or role
