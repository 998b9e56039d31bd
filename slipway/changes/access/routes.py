"""The routes of an API, and whom each lets in."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from slipway.changes.template.resources import Resource, values_at
from slipway.changes.template.values import as_list, logical_id_in, shown, text_of

Resources = dict[str, Resource]
ROUTE_TYPE = "AWS::ApiGateway::Method"
OPEN = "NONE"
_MOST_NAMES = 3


@dataclass(frozen=True)
class Admission:
    """Whom a route lets in.

    kinds: the authorization, several where a condition that only AWS knows decides. authorizer: what it looks at.
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
        """In words."""
        if self.is_open:
            return "everybody"
        if self.needs_key:
            return "callers with an API key"
        if self.kinds == {"AWS_IAM"}:
            return "callers that sign with AWS credentials"
        return f"callers that the authorizer lets in ({self.kind})"

    def refuses(self, was: "Admission") -> bool:
        """Somebody whom the other one lets in is, or may be, refused here."""
        if self.is_open:
            return False
        if self.authorizer != was.authorizer or self.kinds - was.kinds - {OPEN} or self.needs_key > was.needs_key:
            return True
        return bool(self.scopes) and not (was.scopes and was.scopes <= self.scopes)


@dataclass(frozen=True)
class Route:
    """owner: the logical id of its API, or its own where the API is not in the template. name: such as GET /jobs."""

    logical_id: str
    owner: str
    name: str
    admission: Admission


def routes(resources: Resources) -> Iterator[Route]:
    """The routes of all APIs that lead somewhere."""
    for each in resources.values():
        if each.type == ROUTE_TYPE and not has_fixed_answer(each):
            route = route_of(each, resources)
            if not route.name.startswith("OPTIONS"):  # which a browser asks beforehand
                yield route


def has_fixed_answer(route: Resource) -> bool:
    """Whether API Gateway answers by itself, such as 404 on a path that nobody has."""
    return values_at(route.properties, ["Integration", "Type"]) == ["MOCK"]


def route_of(resource: Resource, resources: Resources) -> Route:
    """The route that a method of an API is."""
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
    return Route(
        resource.logical_id, api if api in resources else resource.logical_id, f"{verb} {path}".strip(), admission
    )


def _path(reference: str, resources: Resources) -> str:
    """The path of `${Resource}`; the root's is `/`, and that of another stack's resource its own text."""
    if reference.endswith(".RootResourceId}"):
        return "/"
    parent = resources.get(logical_id_in(reference))
    if parent is None or "PathPart" not in parent.properties:
        return reference
    above = _path(shown(parent.properties.get("ParentId", "")), resources)
    return f"{above.rstrip('/')}/{shown(parent.properties['PathPart'])}"


def _authorizer(properties: dict[str, Any], resources: Resources) -> str:
    """The same text for an authorizer that looks at the same, under whatever id."""
    reference = shown(properties.get("AuthorizerId", ""))
    found = resources.get(logical_id_in(reference))
    if found is None:
        return reference
    looks_at = ("Type", "IdentitySource", "ProviderARNs")
    return text_of({key: found.properties[key] for key in looks_at if key in found.properties})


def listed(names: list[str]) -> str:
    """Such as `GET /jobs, POST /jobs` or `19 routes, such as GET /jobs`."""
    return ", ".join(names) if len(names) <= _MOST_NAMES else f"{len(names)} routes, such as {names[0]}"
