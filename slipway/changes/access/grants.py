"""The grants and denials of a policy's statements, and whether one covers another."""

import fnmatch
import ipaddress
from dataclasses import dataclass

Condition = tuple[str, str, tuple[str, ...]]  # operator, key, values


@dataclass(frozen=True)
class Grant:
    """One action on one resource by one principal, under conditions.

    action, resource, principal: patterns with `*` and `?`; those of NotAction, NotResource and NotPrincipal start with
    "not ". conditions: a canonical text for each operator and key; all must hold.
    """

    action: str
    resource: str
    principal: str
    conditions: frozenset[Condition]

    def covers(self, other: "Grant") -> bool:
        """Whether this allows everything that the other allows; False if that is not certain."""
        return (
            _covers(self.action.lower(), other.action.lower())
            and _covers(self.resource, other.resource)
            and self.principal in ("*", other.principal)
            and all(any(_implies(given, each) for given in other.conditions) for each in self.conditions)
        )

    def overlaps(self, other: "Grant") -> bool:
        """Whether one request may match both; True if that is not certain."""
        return _overlap(self.action.lower(), other.action.lower()) and _overlap(self.resource, other.resource)

    def __str__(self) -> str:
        conditions = [f"{key} {operator} {' or '.join(each)}" for operator, key, each in self.conditions if key]
        under = f" if {', '.join(sorted(conditions))}" if conditions else ""
        return f"{self.action} on {self.resource}" + (f" to {self.principal}" if self.principal else "") + under


def _covers(pattern: str, other: str) -> bool:
    """Whether `pattern` matches every text that `other` matches; False if that is not certain."""
    if pattern in ("*", other):
        return True
    if pattern.startswith("not "):
        excluded = _excluded(pattern)
        if other.startswith("not "):
            return all(any(_covers(wider, each) for wider in _excluded(other)) for each in excluded)
        return not any(_overlap(each, other) for each in excluded)
    # Each wildcard of `other` becomes a letter that only a wildcard matches.
    letter = other.replace("*", "\x00").replace("?", "\x01")
    escaped = pattern.replace("[", "[[]")
    if other.startswith("not ") or ("?" in pattern and "\x00" in letter):
        return False
    return fnmatch.fnmatchcase(letter, escaped)


def _excluded(pattern: str) -> list[str]:
    return pattern.removeprefix("not ").split(", ")


def _overlap(one: str, other: str) -> bool:
    if one.startswith("not ") or other.startswith("not ") or not one or not other:
        return True
    first, second = (_prefix(each) for each in (one, other))
    return first.startswith(second) or second.startswith(first)


def _prefix(pattern: str) -> str:
    """The common beginning of all texts that the pattern matches."""
    for sign in ("*", "?", "${"):
        pattern = pattern.split(sign)[0]
    return pattern


def _implies(given: Condition, wanted: Condition) -> bool:
    """Whether the second condition holds whenever the first does; False if that is not certain."""
    if given[1] != wanted[1] or wanted[0] not in (given[0], f"{given[0]}IfExists"):
        return False
    if given[2] == wanted[2]:
        return True
    operator = given[0].removesuffix("IfExists").removeprefix("ForAnyValue:")
    if operator.startswith("ForAllValues:") or "Not" in operator:
        return "Not" in operator and set(given[2]) >= set(wanted[2])  # more refused values are stricter
    if operator in ("StringLike", "ArnLike", "ArnEquals"):
        return all(any(_covers(pattern, each) for pattern in wanted[2]) for each in given[2])
    if operator == "IpAddress":
        return all(any(_contains(net, each) for net in wanted[2]) for each in given[2])
    return set(given[2]) <= set(wanted[2])


def _contains(network: str, part: str) -> bool:
    try:
        whole, inner = (ipaddress.ip_network(each, strict=False) for each in (network, part))
    except ValueError:
        return network == part
    if isinstance(whole, ipaddress.IPv4Network) and isinstance(inner, ipaddress.IPv4Network):
        return inner.subnet_of(whole)
    if isinstance(whole, ipaddress.IPv6Network) and isinstance(inner, ipaddress.IPv6Network):
        return inner.subnet_of(whole)
    return False
