"""Scheduled actions of a scalable target: new limits at the times of a schedule, in a time zone."""

from datetime import UTC, datetime
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from local_cloud.emulator.core import clock, ministack

_events = ministack.internals("ministack.services.eventbridge", "_cron_next_fire", "_parse_cron_fields")

_NEVER = datetime.max.replace(tzinfo=UTC)


class Limits(NamedTuple):
    """The limits of a target; None = as they are."""

    minimum: int | None
    maximum: int | None


def read_actions(given: list[dict[str, Any]]) -> "list[ScheduledAction]":
    """The entries of ScheduledActions; raises ValueError."""
    names = [action["ScheduledActionName"] for action in given]
    if len(set(names)) < len(names):
        raise ValueError(f"ScheduledActionName: {', '.join(sorted(names))} are not all different.")
    return [ScheduledAction(action) for action in given]


class ScheduledAction:
    """An entry of ScheduledActions; raises ValueError for one that AWS refuses or the local cloud lacks."""

    def __init__(self, action: dict[str, Any]) -> None:
        target = action.get("ScalableTargetAction") or {}
        self.limits = Limits(
            *(int(target[each]) if each in target else None for each in ("MinCapacity", "MaxCapacity"))
        )
        if self.limits == (None, None):
            raise ValueError("ScalableTargetAction: MinCapacity, MaxCapacity or both must be given.")
        if {"StartTime", "EndTime"} & action.keys():
            raise ValueError("ScheduledActions: the local cloud knows no StartTime and no EndTime.")
        self._fields = _events._parse_cron_fields(action["Schedule"])
        if self._fields is None:
            raise ValueError(
                f"Schedule: the local cloud knows cron expressions with six fields, not {action['Schedule']}."
            )
        try:
            self._zone = ZoneInfo(action.get("Timezone", "UTC"))
        except (ZoneInfoNotFoundError, ValueError) as error:
            raise ValueError(f"Timezone: {action['Timezone']} is not the name of a time zone.") from error
        self._due_at = self._next_after(datetime.fromtimestamp(clock.now(), self._zone))

    def is_due(self) -> bool:
        """Whether a time of the schedule has come since the last call."""
        now = datetime.fromtimestamp(clock.now(), self._zone)
        if now < self._due_at:
            return False
        self._due_at = self._next_after(now)
        return True

    def _next_after(self, moment: datetime) -> datetime:
        found: datetime | None = _events._cron_next_fire(self._fields, moment)
        return found or _NEVER
