"""Callers that an API admits before an update and refuses after it."""

from collections import defaultdict
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from slipway.changes.access.grants import Grant
from slipway.changes.access.model_names import model_names, page_origins
from slipway.changes.access.policies import grants_of
from slipway.changes.access.routes import Admission, listed, routes
from slipway.changes.access.token_rules import VARIABLE, refused, token_rules
from slipway.changes.template.resources import Resource, Resources

ADMITTING = ("AuthorizationType", "AuthorizerId", "ApiKeyRequired", "AuthorizationScopes")
"""The properties of a route that decide which callers it admits."""
_API = "AWS::ApiGateway::RestApi"
_ADDRESSES = (_API, "AWS::ApiGateway::Stage", "AWS::ApiGateway::DomainName")
_KEYS = {"AWS::ApiGateway::UsagePlan": "a key of this plan", "AWS::ApiGateway::ApiKey": "this key"}


@dataclass(frozen=True)
class Refusal:
    """Callers that are refused after the update. logical_id: of the API, or of the key or plan that goes."""

    logical_id: str
    property: str
    sentence: str


def refusals(before: Resources, after: Resources, replaced: Collection[str]) -> Iterator[Refusal]:
    """The refusals of an update, one for all routes that change alike. replaced: logical ids."""
    gone = {name: each for name, each in before.items() if name not in after or name in replaced}
    lost = {name for name, each in gone.items() if each.type in _ADDRESSES}
    for name in lost:
        yield Refusal(name, "", "its URL goes: calls to it are refused from then on")
    yield from _by_route(before, after, lost)
    if any(route.admission.needs_key for route in routes(after)):
        for name, each in gone.items():
            if each.type in _KEYS:
                yield Refusal(name, "", f"requests with {_KEYS[each.type]} are refused from then on")
    for name in (before.keys() & after.keys()) - gone.keys():
        if before[name].type == _API:
            yield from _by_address(before[name], after[name])
            yield from _by_policy(before[name], after[name])
    was, is_now = model_names(before), model_names(after)
    for api in (was.keys() & is_now.keys()) - lost:
        if names := is_now[api].refused(was[api]):
            yield Refusal(api, "", f"requests for {names} are refused from then on")
    rules = token_rules(after)
    for name, old in token_rules(before).items():
        if name in rules and (tokens := refused(old, rules[name])):
            yield Refusal(name, f"Environment.Variables.{VARIABLE}", f"{tokens} are refused from then on")
    pages = page_origins(after)
    for api, origins in page_origins(before).items():
        if api not in lost and (gone_origins := sorted(origins - pages.get(api, frozenset()))):
            yield Refusal(api, "", f"browsers refuse pages of {' and '.join(gone_origins)} from then on")


def readmitting(before: Resources, after: Resources) -> dict[str, str]:
    """The logical ids of routes that admit other callers than before, with the logical id of their API."""
    old = {each.logical_id: each.admission for each in routes(before)}
    found = [each for each in routes(after) if old.get(each.logical_id, each.admission) != each.admission]
    return {each.logical_id: each.owner for each in found}


def _by_route(before: Resources, after: Resources, lost: Collection[str]) -> Iterator[Refusal]:
    now = {(each.owner, each.name): each.admission for each in routes(after)}
    going: dict[str, list[str]] = defaultdict(list)
    moving: dict[tuple[str, str, str], list[str]] = defaultdict(list)
    for route in routes(before):
        admission = now.get((route.owner, route.name))
        if admission is None and route.owner not in lost:
            going[route.owner].append(route.name)
        elif admission and admission.refuses(route.admission):
            moving[route.owner, *_moved(route.admission, admission)].append(route.name)
    for owner, names in going.items():
        yield Refusal(owner, "", f"the route for {listed(names)} goes: calls to it are refused from then on")
    for (owner, changed, fate), names in moving.items():
        yield Refusal(owner, changed.split()[0], f"{changed} on {listed(names)}: {fate}")


def _moved(was: Admission, is_now: Admission) -> tuple[str, str]:
    """The change of a route, and what it means for callers."""
    fate = f"from then on only {is_now.callers} are let in"
    if was.callers == is_now.callers:
        fate = f"some of the {was.callers} are refused from then on"
    elif not was.is_open:
        fate += f", and {was.callers} are refused"
    return _changed(was, is_now), fate


def _changed(was: Admission, is_now: Admission) -> str:
    if was.kinds != is_now.kinds:
        return f"AuthorizationType {was.kind} -> {is_now.kind}"
    if was.needs_key != is_now.needs_key:
        return "ApiKeyRequired false -> true"
    return "AuthorizerId changes" if was.authorizer != is_now.authorizer else "AuthorizationScopes change"


def _by_address(before: Resource, after: Resource) -> Iterator[Refusal]:
    was, is_now = ("PRIVATE" in str(each.properties.get("EndpointConfiguration")) for each in (before, after))
    if is_now and not was:
        said = (
            "a public API becomes private: callers who come through none of its VPC endpoints are refused from then on"
        )
        yield Refusal(before.logical_id, "EndpointConfiguration", said)


def _by_policy(before: Resource, after: Resource) -> Iterator[Refusal]:
    """Callers that a resource policy stops admitting, or that a policy refuses which no template holds any more."""
    was, is_now = before.properties.get("Policy"), after.properties.get("Policy")
    if is_now is None:
        if any(not _is_plain_http(each) for each in grants_of(was, "Deny")):
            said = "Policy leaves the template, but CloudFormation keeps it (aws-cdk#21840), and it refuses as before"
            yield Refusal(before.logical_id, "Policy", f"{said}; set api.allow: {{}} for one that restricts nothing")
        return
    shut = grants_of(was, "Deny")
    for each in grants_of(is_now, "Deny"):
        if not _is_plain_http(each) and not any(one.covers(each) for one in shut):
            yield Refusal(before.logical_id, "Policy", f"Policy refuses from then on {each}")
    kept = grants_of(is_now)
    gone = [each for each in grants_of(was) if not any(one.covers(each) for one in kept)]
    for who in sorted({each.principal for each in gone}):
        yield Refusal(before.logical_id, "Policy", f"Policy stops admitting {who}")


def _is_plain_http(denial: Grant) -> bool:
    """Whether a denial refuses only what the API does not speak."""
    return denial.conditions == {("Bool", "aws:securetransport", ("false",))}
