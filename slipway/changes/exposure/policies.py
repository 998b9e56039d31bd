"""Policies that let everybody in."""

import ipaddress
from typing import Any

from slipway.changes.access.grants import Condition, Grant
from slipway.changes.access.policies import grants_of

# A condition on one of these keys limits callers or their origin.
# Source: "The meaning of public" (S3 user guide) and the global condition keys (IAM user guide).
_NARROWING = {
    "aws:principalaccount",
    "aws:principalarn",
    "aws:principalorgid",
    "aws:principalorgpaths",
    "aws:sourceaccount",
    "aws:sourcearn",
    "aws:sourceip",
    "aws:sourceorgid",
    "aws:sourceorgpaths",
    "aws:sourceowner",
    "aws:sourcevpc",
    "aws:sourcevpce",
    "aws:userid",
    "aws:username",
    "aws:vpcsourceip",
    "kms:calleraccount",
    "s3:dataaccesspointaccount",
    "s3:dataaccesspointarn",
    "sns:endpoint",
}


def public_grants(document: Any) -> list[Grant]:
    """The grants of a policy to everybody, without those that it denies to all but some."""
    shut = [each for each in grants_of(document, "Deny") if _spares_some(each)]
    return [
        each
        for each in grants_of(document)
        if (each.principal == "*" or each.principal.startswith("not "))
        and not any(_narrows(condition) for condition in each.conditions)
        and not any(_anyhow(deny).covers(each) for deny in shut)
    ]


def _spares_some(deny: Grant) -> bool:
    """Whether a denial spares named callers or places, such as one with NotIpAddress."""
    conditions = [(operator.replace("Not", "", 1), key, values) for operator, key, values in deny.conditions]
    named = all("Not" in operator for operator, _, _ in deny.conditions)
    return bool(conditions) and named and all(_narrows(_plain(each)) for each in conditions)


def _plain(condition: Condition) -> Condition:
    """The condition without IfExists: a denial with it also holds if the key is missing."""
    operator, key, values = condition
    return operator.removesuffix("IfExists"), key, values


def _anyhow(deny: Grant) -> Grant:
    return Grant(deny.action, deny.resource, deny.principal, frozenset())


def _narrows(condition: Condition) -> bool:
    """Whether the condition holds for named callers or places only, even if a request lacks the key."""
    operator, key, values = condition
    if operator.endswith("IfExists") or operator.startswith("ForAllValues:") or "Not" in operator or operator == "Null":
        return False
    return key in _NARROWING and not any(_is_anybody(each) for each in values)


def _is_anybody(value: str) -> bool:
    """Whether the value is the whole internet, or has a wildcard for the account or the whole name."""
    if is_whole_internet(value):
        return True
    if value.startswith("arn:"):
        parts = value.split(":", 5)
        account, name = (parts[4], parts[5]) if len(parts) == 6 else ("", parts[-1])
        return "*" in account or "?" in account or (not account and name.startswith(("*", "?")))
    return "*" in value or "?" in value


def is_whole_internet(text: str) -> bool:
    """Whether the text is a network with half of all addresses or more."""
    try:
        return ipaddress.ip_network(text, strict=False).prefixlen <= 1
    except ValueError:
        return False
