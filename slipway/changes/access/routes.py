"""The routes of an API, and the callers that each admits."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from slipway.changes.template.resources import Resource, Resources, values_at
from slipway.changes.template.values import as_list, logical_id_in, shown, text_of

ROUTE_TYPE = "AWS::ApiGateway::Method"
OPEN = "NONE"
_MOST_NAMES = 3


@dataclass(frozen=True)
class Admission:
    """The callers that a route admits.

    kinds: the authorization; several if only AWS knows which. authorizer: what the authorizer looks at.
    """

    kinds: frozenset[str]
    needs_key: bool
    authorizer: str
    scopes: frozenset[str]

    @property
    def is_open(self) -> bool:
        return self.kinds == {OPEN} and not self.needs_key

    @property
    def kind(self) -> str:
        return " or ".join(sorted(self.kinds))

    @property
    def callers(self) -> str:
        """The admitted callers, in words."""
        if self.is_open:
            return "everybody"
        if self.needs_key:
            return "callers with an API key"
        if self.kinds == {"AWS_IAM"}:
            return "callers that sign with AWS credentials"
        return f"callers that the authorizer lets in ({self.kind})"

    def refuses(self, was: "Admission") -> bool:
        """Whether some caller that the other admits is, or may be, refused here."""
        if self.is_open:
            return False
        if self.authorizer != was.authorizer or self.kinds - was.kinds - {OPEN} or self.needs_key > was.needs_key:
            return True
        return bool(self.scopes) and not (was.scopes and was.scopes <= self.scopes)


@dataclass(frozen=True)
class ApiRoute:
    """One path and method of an API.

    owner: the logical id of the API, or the route's own if the API is not in the template. name: such as GET /jobs.
    """

    logical_id: str
    owner: str
    name: str
    admission: Admission


def routes(resources: Resources) -> Iterator[ApiRoute]:
    """The routes of all APIs that call an integration."""
    for each in resources.values():
        if each.type == ROUTE_TYPE and not has_fixed_answer(each):
            route = route_of(each, resources)
            if not route.name.startswith("OPTIONS"):  # a browser sends these before a request
                yield route


def has_fixed_answer(route: Resource) -> bool:
    """Whether API Gateway answers by itself, such as 404 for an unknown path."""
    return values_at(route.properties, ["Integration", "Type"]) == ["MOCK"]


def route_of(resource: Resource, resources: Resources) -> ApiRoute:
    """The route of a method."""
    properties = resource.properties
    api = logical_id_in(shown(properties.get("RestApiId")))
    verb = shown(properties.get("HttpMethod", ""))
    path = _path(shown(properties.get("ResourceId", "")), resources)
    admission = Admission(
        frozenset(shown(each) or OPEN for each in as_list(properties.get("AuthorizationType", OPEN))),
        properties.get("ApiKeyRequired") == "true",
        _authorizer(properties, resources),
        frozenset(map(shown, as_list(properties.get("AuthorizationScopes", [])))),
    )
    return ApiRoute(
        resource.logical_id, api if api in resources else resource.logical_id, f"{verb} {path}".strip(), admission
    )


def _path(reference: str, resources: Resources) -> str:
    """The path of `${Resource}`: `/` for the root, the reference itself for a resource of another stack."""
    if reference.endswith(".RootResourceId}"):
        return "/"
    parent = resources.get(logical_id_in(reference))
    if parent is None or "PathPart" not in parent.properties:
        return reference
    above = _path(shown(parent.properties.get("ParentId", "")), resources)
    return f"{above.rstrip('/')}/{shown(parent.properties['PathPart'])}"


def _authorizer(properties: dict[str, Any], resources: Resources) -> str:
    """Describe a route's authorizer as text, equal for equal authorizers under different logical ids."""
    reference = shown(properties.get("AuthorizerId", ""))
    found = resources.get(logical_id_in(reference))
    if found is None:
        return reference
    looks_at = ("Type", "IdentitySource", "ProviderARNs")
    return text_of({key: found.properties[key] for key in looks_at if key in found.properties})


def listed(names: list[str]) -> str:
    """The names in words: `GET /jobs, POST /jobs` or `19 routes, such as GET /jobs`."""
    return ", ".join(names) if len(names) <= _MOST_NAMES else f"{len(names)} routes, such as {names[0]}"
