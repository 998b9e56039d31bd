"""Lifecycle rules of a bucket that delete more objects than before, or delete them earlier."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from slipway.changes.template.resources import Resource, values_at
from slipway.changes.template.values import shown

_SETTINGS = (
    "ExpirationInDays",
    "NoncurrentVersionExpirationInDays",
    "NoncurrentVersionExpiration.NoncurrentDays",
    "ExpirationDate",
)
_ONE = {"NoncurrentVersionExpirationInDays": "NoncurrentVersionExpiration.NoncurrentDays"}  # the older form


@dataclass(frozen=True)
class _Expiration:
    """One expiration of a lifecycle rule.

    setting: one of _SETTINGS. at: an age in days, or a date as days since 1970. tags: filters by tag and by size.
    """

    setting: str
    at: float
    prefix: str
    tags: frozenset[str]
    said: str

    def covers(self, other: "_Expiration") -> bool:
        return (
            self.setting == other.setting
            and self.at <= other.at
            and other.prefix.startswith(self.prefix)
            and self.tags <= other.tags
        )


def expiring_objects(before: Resource, after: Resource) -> Iterator[str]:
    """A sentence for each rule of a bucket that deletes more, or earlier."""
    old = list(_expirations(before))
    for each in dict.fromkeys(_expirations(after)):
        if any(one.covers(each) for one in old):
            continue
        was = [one.said for one in old if (one.setting, one.prefix, one.tags) == (each.setting, each.prefix, each.tags)]
        where = f"objects under {each.prefix!r}" if each.prefix else "objects"
        yield f"{where} expired {was[0] if was else 'never'}, now {each.said} ({each.setting})"


def _expirations(bucket: Resource) -> Iterator[_Expiration]:
    """The expirations of the rules that are enabled."""
    for rule in values_at(bucket.properties, ["LifecycleConfiguration", "Rules", "*"]):
        if not isinstance(rule, dict) or rule.get("Status") != "Enabled":
            continue
        tags = [each for key, value in rule.items() if "Filter" in key for each in _items(value)]
        tags += [f"{key} {rule[key]}" for key in ("ObjectSizeGreaterThan", "ObjectSizeLessThan") if key in rule]
        for setting in _SETTINGS:
            for value in values_at(rule, setting.split(".")):
                at = _days(value)
                if at is not None:
                    said = f"on {value}" if setting == "ExpirationDate" else f"after {at:g} days"
                    prefix = shown(rule.get("Prefix", ""))
                    yield _Expiration(_ONE.get(setting, setting), at, prefix, frozenset(tags), said)


def _items(value: Any) -> list[str]:
    return [json.dumps(each, sort_keys=True) for each in (value if isinstance(value, list) else [value])]


def _days(value: Any) -> float | None:
    """The value as days; None if only AWS knows it."""
    try:
        return float(value)
    except (TypeError, ValueError):
        pass
    try:
        return datetime.fromisoformat(value.replace("Z", "+00:00")).timestamp() / 86_400
    except (AttributeError, ValueError):
        return None
