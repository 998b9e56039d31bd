"""The ways into what a template makes: routes and their authorizers, resource policies, other accounts, ports."""

import json
import re
from collections.abc import Iterator

from slipway.changes.access.attachments import ROLE, guarded, guarding
from slipway.changes.access.policies import grants_of
from slipway.changes.access.routes import ROUTE_TYPE, has_fixed_answer, route_of
from slipway.changes.exposure.doors import public_doors
from slipway.changes.template.resources import Resource, Resources, values_at
from slipway.changes.template.values import logical_id_in, shown
from slipway.evidence.evidence import Door
from slipway.evidence.names import listed, plain, short
from slipway.evidence.ports import ports_of
from slipway.evidence.roles import condition_in_words, principal_in_words

_ACCOUNT = re.compile(r"AWS:(\d{12})$|AWS:arn:[^:]*:(?:iam|sts)::(\d{12}):")
FIXED = "API Gateway answers by itself, without a function"
PREFLIGHT = "a preflight of browsers"
_FULLY_OPEN = "anybody may call it"
# What they let through still needs the authorization of a route, or a permission of the caller's own.
_KIND_OF_POLICY = {
    ROLE: "role",
    "AWS::ApiGateway::RestApi": "before a route's own authorization",
    "AWS::EC2::VPCEndpoint": "through a VPC endpoint, with a permission",
}


def ways_in(resources: Resources) -> tuple[Door, ...]:
    """Return the ways into what the template makes, by their kind."""
    found = [
        *_apis(resources),
        *_authorizers(resources),
        *_routes(resources),
        *_links(resources),
        *_policies(resources),
        *_public(resources),
        *_ports(resources),
    ]
    return tuple(dict.fromkeys(sorted(found, key=lambda each: (each.kind, each.where, each.sentence))))


def _apis(resources: Resources) -> Iterator[Door]:
    for each in resources.values():
        if each.type == "AWS::ApiGateway::RestApi":
            kinds = values_at(each.properties, ["EndpointConfiguration", "Types"])
            is_private = kinds in ([["PRIVATE"]], ["PRIVATE"])
            place = "inside VPC endpoints only" if is_private else "at an address on the internet"
            yield Door("API", short(each.logical_id), f"it answers {place}; {_tls(each)}")
        if each.type == "AWS::ApiGateway::DomainName":
            name = plain(shown(each.properties.get("DomainName", "")))
            yield Door("API", short(each.logical_id), f"it answers at {name}, beside its own address; {_tls(each)}")
        if each.type == "AWS::ApiGateway::Stage":
            yield Door("API", short(each.logical_id), _firewall(each, resources))


def _tls(api: Resource) -> str:
    policy = plain(shown(api.properties.get("SecurityPolicy", "of API Gateway's default")))
    strict = api.properties.get("EndpointAccessMode") == "STRICT"
    return f"TLS policy {policy}" + ("; only for its own host name" if strict else "")


def _firewall(stage: Resource, resources: Resources) -> str:
    acls = [each for each in resources.values() if each.type == "AWS::WAFv2::WebACLAssociation"]
    if any(stage.logical_id in shown(each.properties.get("ResourceArn")) for each in acls):
        return "a web ACL looks at each request first"
    return "no web ACL in this template looks at requests"


def _authorizers(resources: Resources) -> Iterator[Door]:
    """Yield who an authorizer of tokens lets in, and who gets into a user pool."""
    for each in resources.values():
        rules = values_at(each.properties, ["Environment", "Variables", "TOKEN_RULES"])
        if each.type == "AWS::Lambda::Function" and rules:
            wanted = json.loads(plain(shown(rules[0])))
            claims = [f"{name} {' or '.join(map(str, values))}" for name, values in wanted["claims"].items()]
            audience = " or ".join(wanted["audience"])
            said = f"lets in tokens that {wanted['issuer']} has signed for the audience {audience}"
            yield Door("authorizer", short(each.logical_id), said + (f", with {listed(claims)}" if claims else ""))
        if each.type == "AWS::Cognito::UserPool":
            closed = values_at(each.properties, ["AdminCreateUserConfig", "AllowAdminCreateUserOnly"]) == ["true"]
            said = "administrators of the pool make its users" if closed else "anybody may sign up as a user"
            yield Door("user pool", short(each.logical_id), said)


def _routes(resources: Resources) -> Iterator[Door]:
    """Yield each route, with the callers whom it lets in."""
    for each in resources.values():
        if each.type != ROUTE_TYPE:
            continue
        route = route_of(each, resources)
        if route.name.startswith("OPTIONS"):
            said = f"everybody: {PREFLIGHT}"
        elif has_fixed_answer(each):
            said = f"{route.admission.callers}: {FIXED}"
        else:
            said = route.admission.callers + _scopes(route.admission.scopes)
        yield Door("route", route.name, f"open to {said}")


def _scopes(scopes: frozenset[str]) -> str:
    return f" with the scope {' or '.join(sorted(scopes))}" if scopes else ""


def _links(resources: Resources) -> Iterator[Door]:
    """Yield the bucket of jobs: the API hands out links to large results and to files."""
    for each in resources.values():
        if each.type == "AWS::S3::Bucket" and short(each.logical_id).endswith("JobStoreBucket"):
            said = "whoever has a link that the API gave to a result or file may read it for 5 minutes"
            yield Door("link", short(each.logical_id), said)


def _policies(resources: Resources) -> Iterator[Door]:
    """Yield what a resource's own policy says of whom it lets in; of roles only those beyond AWS's services."""
    together: dict[tuple[str, str, str, str, str], set[str]] = {}
    for each in resources.values():
        for _, document in guarding(each):
            for effect in ("Allow", "Deny"):
                for grant in grants_of(document, effect):
                    if not grant.principal or (each.type == ROLE and grant.principal.startswith("Service:")):
                        continue
                    for subject in guarded(each):
                        where = short(logical_id_in(subject)) or plain(subject)
                        kind = _KIND_OF_POLICY.get(each.type, "resource policy")
                        key = kind, where, grant.principal, effect, condition_in_words(grant)
                        together.setdefault(key, set()).add(grant.action)
    for (kind, where, principal, effect, condition), actions in together.items():
        verb = "may do" if effect == "Allow" else "is denied"
        account = "; a principal of a named account" if _ACCOUNT.match(principal) else ""
        under = f", if {condition}" if condition else ", without a condition"
        said = f"{principal_in_words(principal)} {verb} {listed(sorted(actions))}{under}{account}"
        yield Door(kind, where, said)


def _public(resources: Resources) -> Iterator[Door]:
    for door in public_doors(resources):
        if door.sentence != _FULLY_OPEN:  # the routes say that
            yield Door("public", short(door.logical_id), door.sentence)


def _ports(resources: Resources) -> Iterator[Door]:
    for each in resources.values():
        for said, source in ports_of(each, "Ingress"):
            yield Door("security group", short(each.logical_id), f"{said}, from {source}")
