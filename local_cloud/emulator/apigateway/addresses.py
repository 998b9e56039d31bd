"""The addresses of a REST API: its own, those through VPC endpoints, and those of custom domains.

On this machine everything is the loopback. So the path, or the header `Host`, tells which door a caller takes.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from local_cloud.emulator.cloudformation import own_addresses
from local_cloud.emulator.core import ministack

_app = ministack.internals("ministack.app", "_parse_execute_api_url")
_gateway = ministack.internals(
    "ministack.services.apigateway_v1",
    "_base_path_mappings.get_scoped",
    "_domain_names.all_items",
    "_rest_apis.all_items",
)

OWN_PATH, DOMAIN_PATH = "/_aws/execute-api/", "/_aws/domain/"

_ENDPOINT = "vpce-[0-9a-f]+"
_THROUGH_ENDPOINT = re.compile(rf"([a-z0-9]+)-({_ENDPOINT})")
# AWS's names: an API through an endpoint, and an endpoint's own name, beside which a header names the API.
_HOST_OF_API = re.compile(rf"([a-z0-9]+)-({_ENDPOINT})\.execute-api\.")
_HOST_OF_ENDPOINT = re.compile(rf"({_ENDPOINT})[a-z0-9-]*\.execute-api\.")

_parse = _app._parse_execute_api_url


@dataclass(frozen=True)
class Address:
    """The place that a request names.

    vpc_endpoint: the endpoint through which the request comes; empty = it comes from the internet.
    owner: account and region of the API.
    """

    api_id: str
    stage_name: str
    path: str
    owner: tuple[str, str]
    vpc_endpoint: str = ""

    @property
    def own_path(self) -> str:
        """The path under which MiniStack finds the API."""
        return f"{OWN_PATH}{self.api_id}/{self.stage_name}{self.path}"


def address_of(host: str, path: str, headers: Mapping[str, str]) -> Address | None:
    """Return the place of a REST API that a request names; None = it names none."""
    if named := _domain_and_path(host, path):
        return _behind_domain(*named)
    endpoint = ""
    if through := _HOST_OF_API.match(host):
        api_id, endpoint = through.groups()
        path = f"{OWN_PATH}{api_id}{path}"
    elif (through := _HOST_OF_ENDPOINT.match(host)) and "x-apigw-api-id" in headers:
        endpoint = through[1]
        path = f"{OWN_PATH}{headers['x-apigw-api-id']}{path}"
    parsed = _parse(host, path)
    if parsed is None:
        return None
    api_id, stage, rest = parsed
    if through := _THROUGH_ENDPOINT.fullmatch(api_id):
        api_id, endpoint = through.groups()
    owner = _owner_of_api(api_id)
    return Address(api_id, stage, rest, owner, endpoint) if owner else None


def _owner_of_api(api_id: str) -> tuple[str, str] | None:
    return next((key[:2] for key, _ in _gateway._rest_apis.all_items() if key[2] == api_id), None)


def _domain_and_path(host: str, path: str) -> tuple[str, str] | None:
    if path.startswith(DOMAIN_PATH):
        name, _, rest = path.removeprefix(DOMAIN_PATH).partition("/")
        return name, f"/{rest}"
    name = host.partition(":")[0].lower()
    return (name, path) if _scope_of_domain(name) else None


def _scope_of_domain(name: str) -> tuple[str, str] | None:
    return next((key[:2] for key, _ in _gateway._domain_names.all_items() if key[2] == name), None)


def _behind_domain(name: str, path: str) -> Address | None:
    """Return the place that the longest matching base path of a domain leads to."""
    scope = _scope_of_domain(name)
    if scope is None:
        return None
    found: list[tuple[str, dict[str, Any], str]] = []
    for base, mapping in _gateway._base_path_mappings.get_scoped(*scope, name, {}).items():
        prefix = "" if base in ("", "(none)") else f"/{base}"
        if path == prefix or path.startswith(f"{prefix}/"):
            found.append((prefix, mapping, path[len(prefix) :] or "/"))
    if not found:
        return None
    _, mapping, rest = max(found, key=lambda each: len(each[0]))
    return Address(mapping["restApiId"], mapping["stage"], rest, scope)


def parse(host: str, path: str) -> tuple[str, str, str] | None:
    """Parse as MiniStack does, and know the addresses behind a domain, too."""
    if not path.startswith(DOMAIN_PATH):
        return _parse(host, path)  # type: ignore[no-any-return]
    found = address_of(host, path, {})
    return (found.api_id, found.stage_name, found.path) if found else None


def install() -> None:
    _app._parse_execute_api_url = parse
    own_addresses.find_domains_with(lambda name: f"{DOMAIN_PATH}{name}" if _scope_of_domain(name) else None)
