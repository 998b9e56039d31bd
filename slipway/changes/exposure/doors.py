"""Doors: ways in that are open to the public, and those that an update opens."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace

from slipway.changes.access.attachments import guarded, guarding
from slipway.changes.access.grants import Grant
from slipway.changes.access.routes import OPEN, ROUTE_TYPE, has_fixed_answer, listed, route_of, routes
from slipway.changes.exposure.policies import public_grants
from slipway.changes.exposure.security_groups import PublicRule, public_rules
from slipway.changes.exposure.settings import public_settings
from slipway.changes.template.resources import Resource, Resources, values_at
from slipway.changes.template.values import as_list, logical_id_in

_BLOCKS = ("BlockPublicAcls", "BlockPublicPolicy", "IgnorePublicAcls", "RestrictPublicBuckets")
_OPEN_ROUTE = "anybody may call it"


@dataclass(frozen=True)
class Door:
    """One public way in.

    scope: the other resource, or the route, that it leads to. extent: how wide it is; None = entirely open.
    """

    logical_id: str
    type: str
    property: str
    sentence: str
    scope: str = ""
    extent: Grant | PublicRule | None = None

    def covers(self, other: "Door") -> bool:
        """Whether this admits everybody whom the other admits."""
        if self.extent is None:
            return self == other
        if self.scope != other.scope:
            return False
        if isinstance(self.extent, PublicRule):
            return isinstance(other.extent, PublicRule) and self.extent.covers(other.extent)
        return isinstance(self.extent, Grant) and isinstance(other.extent, Grant) and self.extent.covers(other.extent)


def opened(before: Resources, after: Resources) -> list[Door]:
    """The doors that an update opens; a door that moves to another logical id stays the same door."""
    old, found = list(public_doors(before)), []
    moved = Counter(_kind(each, after) for each in old if each.logical_id not in after)
    open_apis = _open_apis(before)
    for door in public_doors(after):
        if any(each.covers(door) for each in old) or (door.sentence == _OPEN_ROUTE and door.logical_id in open_apis):
            continue
        kind = _kind(door, before)
        if door.logical_id not in before and moved[kind]:
            moved[kind] -= 1
        else:
            found.append(door)
    for name in before.keys() & after.keys():
        found += _loosened(before[name], after[name])
    one_each = {(each.logical_id, each.property, each.sentence): each for each in _together(found)}
    return [one_each[key] for key in sorted(one_each)]


def _open_apis(resources: Resources) -> set[str]:
    """The APIs that are open on every route, so that one more route opens nothing."""
    found = list(routes(resources))
    return {each.owner for each in found} - {each.owner for each in found if not each.admission.is_open}


def _together(doors: list[Door]) -> Iterator[Door]:
    """Yield the doors, with all open routes of one API combined into one door."""
    open_routes: dict[str, list[Door]] = {}
    for each in doors:
        if each.sentence == _OPEN_ROUTE:
            open_routes.setdefault(each.logical_id, []).append(each)
        else:
            yield each
    for first, *more in open_routes.values():
        names = listed([first.scope, *(each.scope for each in more)])
        yield replace(first, sentence=f"anybody may call {names}: no authorization and no API key")


def _kind(door: Door, others: Resources) -> tuple[str, str, str, str]:
    """Return what equal doors share: everything, except a scope that is added or removed with the door."""
    there = logical_id_in(door.scope) in others or not logical_id_in(door.scope)
    return door.type, door.property, door.sentence, door.scope if there else ""


def public_doors(resources: Resources) -> Iterator[Door]:
    """The ways in that are open to the public."""
    for each in resources.values():
        yield from _doors_of(each, resources)


def _doors_of(resource: Resource, resources: Resources) -> Iterator[Door]:
    name, kind, properties = resource.logical_id, resource.type, resource.properties
    for path, sentence in public_settings(resource):
        yield Door(name, kind, path, sentence)
    if kind == ROUTE_TYPE:
        yield from _open_route(resource, resources)
    if kind == "AWS::S3::Bucket" and "PublicAccessBlockConfiguration" in properties:
        blocks = as_list(properties["PublicAccessBlockConfiguration"])
        for key in _BLOCKS:
            if any(not isinstance(each, dict) or "false" in as_list(each.get(key, "false")) for each in blocks):
                yield Door(name, kind, f"PublicAccessBlockConfiguration.{key}", f"{key} is off")
    for rule in public_rules(resource):
        yield Door(name, kind, "CidrIp", str(rule), rule.group, rule)
    for path, document in guarding(resource):
        for grant in public_grants(document):
            for scope in guarded(resource):
                said = f"the policy allows {grant.action} to everybody"
                yield Door(name, kind, path, said, scope, grant)


def _open_route(resource: Resource, resources: Resources) -> Iterator[Door]:
    kinds = as_list(resource.properties.get("AuthorizationType", OPEN))
    if not {OPEN, ""} & set(kinds) or resource.properties.get("ApiKeyRequired") == "true":
        return
    if has_fixed_answer(resource):
        return
    route = route_of(resource, resources)
    owner = resources.get(route.owner)
    if route.name.startswith("OPTIONS") or (owner and (_is_private(owner) or _has_narrow_policy(owner))):
        return
    yield Door(route.owner, resource.type, "AuthorizationType", _OPEN_ROUTE, route.name)


def _is_private(api: Resource) -> bool:
    types = values_at(api.properties, ["EndpointConfiguration", "Types"])
    return types in ([["PRIVATE"]], ["PRIVATE"])


def _has_narrow_policy(api: Resource) -> bool:
    documents = [document for path, document in guarding(api) if path == "Policy"]
    return bool(documents) and not any(public_grants(each) for each in documents)


def _loosened(before: Resource, after: Resource) -> Iterator[Door]:
    """Yield doors that show only in the comparison with the resource before."""
    name, kind = after.logical_id, after.type
    if kind == "AWS::ApiGateway::RestApi" and _is_private(before) and not _is_private(after):
        yield Door(name, kind, "EndpointConfiguration.Types", "a private API gets an address on the internet")
    if kind == ROUTE_TYPE:
        was, now = (as_list(each.properties.get("AuthorizationType", "NONE")) for each in (before, after))
        if "NONE" not in was and "NONE" in now and after.properties.get("ApiKeyRequired") == "true":
            yield Door(name, kind, "AuthorizationType", "an API key is enough, where there was authorization")
        if before.properties.get("AuthorizationScopes") and not after.properties.get("AuthorizationScopes"):
            yield Door(name, kind, "AuthorizationScopes", "a token of any scope is enough")
    key = "PublicAccessBlockConfiguration"
    kept = key in after.properties or not before.properties.get(key)
    if kind == "AWS::S3::Bucket" and not kept:
        yield Door(name, kind, key, "the public access block is removed")
