"""Settings that keep data, and what an update takes away from them."""

from collections.abc import Iterator
from typing import Any

from slipway.changes.template.resources import RETAINING, Resource, values_at
from slipway.changes.template.values import shown
from slipway.changes.update.lifecycle import expiring_objects

Found = tuple[str, str]  # the property and the sentence

_FOREVER = float("inf")

# How long data is kept: type, property, default, unit (source: the services' API references).
_KEPT = [
    ("AWS::Logs::LogGroup", "RetentionInDays", _FOREVER, "days"),
    ("AWS::SQS::Queue", "MessageRetentionPeriod", 345_600, "seconds"),
]

# Settings that protect data: type ("" = any), property, the value that protects, what another value turns off.
_PROTECTING = [
    ("", "DeletionProtectionEnabled", "true", "the protection against deletion"),
    ("", "DeletionProtection", "true", "the protection against deletion"),
    ("", "DeletionProtection", "ACTIVE", "the protection against deletion"),
    ("", "PointInTimeRecoverySpecification.PointInTimeRecoveryEnabled", "true", "recovery to a point in time"),
    ("AWS::S3::Bucket", "VersioningConfiguration.Status", "Enabled", "keeping overwritten and deleted objects"),
]


def lost_settings(before: Resource, after: Resource, *, stateful: bool) -> Iterator[Found]:
    """The settings by which an update in place keeps less data than before."""
    for kind, path, default, unit in _KEPT:
        if kind == before.type:
            yield from _shortened(before, after, path, default, unit)
    for kind, path, value, what in _PROTECTING:
        old, new = (_at(each, path) for each in (before, after))
        if kind in ("", before.type) and old == value and new != value:
            yield path, f"{what} is turned off"
    yield from _expiring(before, after)
    if stateful:
        yield from _policies(before, after)


def _shortened(before: Resource, after: Resource, path: str, default: float, unit: str) -> Iterator[Found]:
    old, new = (_number(_at(each, path), default) for each in (before, after))
    if old is not None and new is not None and new < old:
        said = "forever" if old == _FOREVER else f"{old:g} {unit}"
        yield path, f"kept {said} before, {new:g} {unit} from now on: older data is deleted"


def _expiring(before: Resource, after: Resource) -> Iterator[Found]:
    """Time to live and lifecycle rules that are new or delete earlier."""
    if before.type == "AWS::DynamoDB::Table":
        path = "TimeToLiveSpecification"
        old, new = before.properties.get(path), after.properties.get(path)
        if isinstance(new, dict) and new.get("Enabled", "true") == "true" and old != new:
            yield path, "items are deleted at the time in their attribute " + shown(new.get("AttributeName"))
    if before.type == "AWS::S3::Bucket":
        for said in expiring_objects(before, after):
            yield "LifecycleConfiguration", said


def _policies(before: Resource, after: Resource) -> Iterator[Found]:
    keeping = (*RETAINING, "Snapshot")
    if before.deletion_policy in keeping and after.deletion_policy not in keeping:
        yield "DeletionPolicy", f"was {before.deletion_policy}: a later removal deletes the data"
    if before.replace_policy in keeping and after.replace_policy not in keeping:
        yield "UpdateReplacePolicy", f"was {before.replace_policy}: a later replacement deletes the data"


def _at(resource: Resource, path: str) -> Any:
    return next(iter(values_at(resource.properties, path.split("."))), None)


def _number(value: Any, default: float) -> float | None:
    """The number; None if only AWS knows it."""
    if value is None:
        return default
    try:
        return float(value)
    except (TypeError, ValueError):
        return None
