"""Settings that keep data, and what an update takes away of them."""

from collections.abc import Iterator
from typing import Any

from slipway.changes.template.resources import RETAINING, Resource, values_at
from slipway.changes.template.values import shown
from slipway.changes.update.lifecycle import expiring_objects

Found = tuple[str, str]  # the property and the sentence

_FOREVER = float("inf")

# How long data is kept: type, property, value where the property is absent (source: the services' API references).
_KEPT = [
    ("AWS::Logs::LogGroup", "RetentionInDays", _FOREVER, "days"),
    ("AWS::SQS::Queue", "MessageRetentionPeriod", 345_600, "seconds"),
]

# Settings that protect while they have this value: type ("" = any), property, value, what is gone without it.
_PROTECTING = [
    ("", "DeletionProtectionEnabled", "true", "the protection against deletion"),
    ("", "DeletionProtection", "true", "the protection against deletion"),
    ("", "DeletionProtection", "ACTIVE", "the protection against deletion"),
    ("", "PointInTimeRecoverySpecification.PointInTimeRecoveryEnabled", "true", "recovery to a point in time"),
    ("AWS::S3::Bucket", "VersioningConfiguration.Status", "Enabled", "keeping overwritten and deleted objects"),
]


def lost_settings(before: Resource, after: Resource, *, stateful: bool) -> Iterator[Found]:
    """What an update in place takes away."""
    for kind, path, default, unit in _KEPT:
        if kind == before.type:
            yield from _shortened(before, after, path, default, unit)
    for kind, path, value, what in _PROTECTING:
        old, new = (_at(each, path) for each in (before, after))
        if kind in ("", before.type) and old == value and new != value:
            yield path, f"{what} goes off"
    yield from _expiring(before, after)
    if stateful:
        yield from _policies(before, after)


def _shortened(before: Resource, after: Resource, path: str, default: float, unit: str) -> Iterator[Found]:
    old, new = (_number(_at(each, path), default) for each in (before, after))
    if old is not None and new is not None and new < old:
        said = "without an end" if old == _FOREVER else f"{old:g} {unit}"
        yield path, f"kept {said}, then {new:g} {unit}: what is older is deleted"


def _expiring(before: Resource, after: Resource) -> Iterator[Found]:
    """Time to live and lifecycle rules that are new or earlier."""
    if before.type == "AWS::DynamoDB::Table":
        path = "TimeToLiveSpecification"
        old, new = before.properties.get(path), after.properties.get(path)
        if isinstance(new, dict) and new.get("Enabled", "true") == "true" and old != new:
            yield path, "items are deleted at the time that this attribute says: " + shown(new.get("AttributeName"))
    if before.type == "AWS::S3::Bucket":
        for said in expiring_objects(before, after):
            yield "LifecycleConfiguration", said


def _policies(before: Resource, after: Resource) -> Iterator[Found]:
    keeping = (*RETAINING, "Snapshot")
    if before.deletion_policy in keeping and after.deletion_policy not in keeping:
        yield "DeletionPolicy", f"was {before.deletion_policy}: a later removal deletes its data"
    if before.replace_policy in keeping and after.replace_policy not in keeping:
        yield "UpdateReplacePolicy", f"was {before.replace_policy}: a later replacement deletes its data"


def _at(resource: Resource, path: str) -> Any:
    return next(iter(values_at(resource.properties, path.split("."))), None)


def _number(value: Any, default: float) -> float | None:
    """None = known only on AWS."""
    if value is None:
        return default
    try:
        return float(value)
    except (TypeError, ValueError):
        return None
