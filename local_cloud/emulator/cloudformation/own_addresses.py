"""Replaces AWS's addresses of REST APIs and of SageMaker's runtime in templates by addresses of this cloud."""

import re
from collections.abc import Callable
from typing import Any

from local_cloud.emulator.core import ministack

_engine = ministack.internals("ministack.services.cloudformation.engine", "_resolve_refs")
_stacks = ministack.internals("ministack.services.cloudformation.stacks", "_resolve_refs")

# Patterns of hosts on AWS, and their replacements.
_PLACES = {
    re.compile(
        r"https://([a-z0-9]+(?:-vpce-[0-9a-f]+)?)\.execute-api\.[a-z0-9-]+\.amazonaws\.com(?=/|$)"
    ): r"/_aws/execute-api/\1",
    re.compile(r"https://runtime\.sagemaker\.[a-z0-9-]+\.amazonaws\.com(?=/|$)"): "",
}


_places_of_domains: list[Callable[[str], str | None]] = []


def find_domains_with(place_of: Callable[[str], str | None]) -> None:
    """Replace addresses of domains, too. place_of(name): the domain's path on this cloud; None = it is not here."""
    _places_of_domains.append(place_of)


def _leading_here(resolve: Callable[..., Any]) -> Callable[..., Any]:
    def resolve_refs(*args: Any, **named: Any) -> Any:
        found = resolve(*args, **named)
        if isinstance(found, str) and found.startswith("https://"):
            for host, place in _PLACES.items():
                found = host.sub(ministack.own_endpoint_url() + place, found)
            name, slash, path = found.removeprefix("https://").partition("/")
            for place_of in _places_of_domains:
                if slash and (of_domain := place_of(name)):
                    return f"{ministack.own_endpoint_url()}{of_domain}/{path}"
        return found

    return resolve_refs


def install() -> None:
    # The function is recursive; it finds itself by its name in the first module.
    _engine._resolve_refs = _leading_here(_engine._resolve_refs)
    _stacks._resolve_refs = _leading_here(_stacks._resolve_refs)
