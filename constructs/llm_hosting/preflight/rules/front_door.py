"""Rules over what stands in front of the API: networks, VPC endpoints, the domain."""

from collections.abc import Iterator
from ipaddress import IPv4Network, IPv6Network, ip_network

from ...deployment.finding import Finding
from ...resolution import Resolution
from .rule import error

# RFC 1918, RFC 6598, loopback, link-local.
_PRIVATE = tuple(
    IPv4Network(each)
    for each in ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16")
)


@error
def networks_can_call(resolution: Resolution) -> Iterator[Finding]:
    """A network that no caller can come from locks everybody out.

    The address of a public API is IPv4, and its callers have public addresses. Those of a private API keep the
    addresses that they have in the VPC.
    """
    api = resolution.deployment.api
    for text in api.cidrs:
        try:
            network = ip_network(text)
        except ValueError:
            yield Finding("api.allow.cidrs", f"{text!r} is no network", _right_form(text))
            continue
        if api.private is None and (problem := _unreachable(network)):
            fix = "name public addresses, such as those of your NAT gateways, or use api.private"
            yield Finding("api.allow.cidrs", f"{text!r} {problem}", fix)


def _right_form(text: str) -> str:
    try:
        return f"use '{ip_network(text, strict=False)}', or the address alone with /32"
    except ValueError:
        return "use a form such as 203.0.113.0/24"


def _unreachable(network: IPv4Network | IPv6Network) -> str | None:
    if isinstance(network, IPv6Network):
        return "is IPv6, but the API has an IPv4 address only"
    if any(network.subnet_of(each) for each in _PRIVATE):
        return "holds private addresses, which no caller on the internet has"
    return None


@error
def zone_holds_the_domain(resolution: Resolution) -> Iterator[Finding]:
    """Route 53 takes a record only within its zone."""
    domain = resolution.deployment.api.domain
    if domain and domain.zone and not f".{domain.name}".endswith(f".{domain.zone.name}"):
        yield Finding(
            "api.domain.zone.name",
            f"{domain.zone.name!r} does not hold {domain.name}",
            f"use {domain.name.partition('.')[2]} or another zone above the name, or remove the zone",
        )
