"""The rules of security groups, in words."""

from collections.abc import Iterator
from typing import Literal

from slipway.changes.template.resources import Resource
from slipway.changes.template.values import as_list, shown
from slipway.evidence.names import plain

_NOWHERE = "255.255.255.255/32"  # the CDK's rule for a group without a way out
_OTHERS = (
    *("CidrIp", "CidrIpv6", "DestinationSecurityGroupId", "DestinationPrefixListId"),
    *("SourceSecurityGroupId", "SourcePrefixListId"),
)


def ports_of(resource: Resource, direction: Literal["Ingress", "Egress"]) -> Iterator[tuple[str, str]]:
    """Yield protocol and ports, and the other side, of each rule of a security group in that direction."""
    rules = []
    if resource.type == "AWS::EC2::SecurityGroup":
        rules = as_list(resource.properties.get(f"SecurityGroup{direction}", []))
    elif resource.type == f"AWS::EC2::SecurityGroup{direction}":
        rules = [resource.properties]
    for rule in [rule for rule in rules if isinstance(rule, dict) and rule.get("CidrIp") != _NOWHERE]:
        other = next((plain(shown(rule[key])) for key in _OTHERS if key in rule), "everywhere")
        ports = "-".join(dict.fromkeys(shown(rule.get(key, "any")) for key in ("FromPort", "ToPort")))
        protocol = shown(rule.get("IpProtocol", "-1")).replace("-1", "every protocol")
        yield f"{protocol}, port {ports}", other
