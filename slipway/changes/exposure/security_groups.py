"""Rules of security groups that admit the whole internet."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from slipway.changes.exposure.policies import is_whole_internet
from slipway.changes.template.resources import Resource
from slipway.changes.template.values import as_list, shown


@dataclass(frozen=True)
class PublicRule:
    """One rule. group: its security group. protocol: "-1" = all. first, last: ports, or types of ICMP."""

    group: str
    cidr: str
    protocol: str
    first: str
    last: str

    def covers(self, other: "PublicRule") -> bool:
        """Whether this admits all that the other admits; False if that is not certain."""
        if (":" in self.cidr) != (":" in other.cidr) or self.cidr not in (other.cidr, "0.0.0.0/0", "::/0"):
            return False
        if self.protocol == "-1" or self == other:
            return True
        ports = [self.first, other.first, other.last, self.last]
        known = all(each.isdecimal() for each in ports)
        return self.protocol == other.protocol and known and list(map(int, ports)) == sorted(map(int, ports))

    def __str__(self) -> str:
        if self.protocol == "-1":
            return f"{self.cidr} may connect to every port"
        ports = f"port {self.first}" if self.first == self.last else f"ports {self.first} to {self.last}"
        return f"{self.cidr} may connect to {self.protocol} {ports}"


def public_rules(resource: Resource) -> Iterator[PublicRule]:
    """The rules of a security group that admit half of the internet or more."""
    if resource.type != "AWS::EC2::SecurityGroup":
        return
    group, rules = "${" + resource.logical_id + "}", as_list(resource.properties.get("SecurityGroupIngress", []))
    for rule in [each for each in rules if isinstance(each, dict)]:
        for key in ("CidrIp", "CidrIpv6"):
            for cidr in as_list(rule.get(key)):
                if isinstance(cidr, str) and is_whole_internet(cidr):
                    yield PublicRule(group, cidr, *_ports(rule))


def _ports(rule: dict[str, Any]) -> tuple[str, str, str]:
    return shown(rule.get("IpProtocol", "-1")), shown(rule.get("FromPort", "any")), shown(rule.get("ToPort", "any"))
