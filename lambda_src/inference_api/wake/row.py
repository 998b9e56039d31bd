"""The row of the model's sleep in the job table, and its changes as pure functions."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from inference_api.shared.attributes import number
from inference_api.shared.model_states import ASLEEP, DELETING, FAILED, NOT_FOUND, READY, STARTING
from inference_api.wake.component import Component

WAKE_KEY = {"pk": {"S": "wake"}}

# Callers who wait read the row. One of them looks at the component for all, more often than a stream's beat.
LOOK_EVERY_IN_SECONDS = 4
ASK_EVERY_IN_SECONDS = 60
# If nobody has looked for longer, the moment in which the copy began to answer is unknown.
_MEASURED_WITHIN_IN_SECONDS = 120
_HEARD_AFTER_IN_SECONDS = 15
# Callers who are held learn of a refusal at the next ask at the latest.
_REFUSED_FOR_IN_SECONDS = 2 * ASK_EVERY_IN_SECONDS
_SHORTEST_WAIT_IN_SECONDS = 5
# A start that takes longer than usual may end at any moment, so callers ask again after a small part of its time.
_SHARE_OF_A_LATE_START = 0.05

_TEXTS = ("state", "reason", "status", "day")
_NUMBERS = ("looked_at", "asked_at", "began_at", "ready_at", "given_back_at", "wake_in_seconds")


@dataclass(frozen=True)
class WakeRow:
    """The model's sleep. Times are in seconds since the epoch; 0 is never.

    looked_at: when somebody last looked at the component. state, status, reason: what was found: READY, STARTING,
    ASLEEP or FAILED, SageMaker's status, and why no copy starts. They are empty before the first look. A model that was
    READY may have fallen asleep since. asked_at: when SageMaker was last asked for a copy. began_at: when the last
    start began. ready_at: when a copy was last seen. given_back_at: `asked_at` of the last ask that does not count.
    wake_in_seconds: the last measured time from the first ask to a copy. day, asks: how many asks count on that day in
    UTC.
    """

    looked_at: float = 0
    state: str = ""
    status: str = ""
    reason: str = ""
    asked_at: float = 0
    began_at: float = 0
    ready_at: float = 0
    given_back_at: float = 0
    wake_in_seconds: float = 0
    day: str = ""
    asks: int = 0

    @property
    def is_starting(self) -> bool:
        """Whether a start has begun, and no copy was seen since."""
        return self.state == STARTING and self.began_at > self.ready_at

    def has_asks_left(self, now: float, asks_per_day: int) -> bool:
        """Whether the day's budget of wakes is not used up."""
        return self.day != day_of(now) or self.asks < asks_per_day

    def waits_for_the_next_day(self, now: float, asks_per_day: int) -> bool:
        """Whether no copy starts today any more. A start that failed may go on after the last ask."""
        just_asked = self.state == FAILED and now - self.asked_at < ASK_EVERY_IN_SECONDS
        return self.state in (ASLEEP, FAILED) and not just_asked and not self.has_asks_left(now, asks_per_day)

    def may_ask(self, now: float, asks_per_day: int) -> bool:
        """Whether SageMaker may be asked for a copy now, if the component is as it was seen."""
        if self.status in (DELETING, NOT_FOUND):
            return False
        return now - self.asked_at >= ASK_EVERY_IN_SECONDS and self.has_asks_left(now, asks_per_day)

    def usual_seconds(self, estimate: float) -> float:
        """Return how long a wake takes, as last measured. estimate: before the first one."""
        return self.wake_in_seconds or estimate

    def seconds_until_ready(self, now: float, estimate: float) -> int:
        """Return the seconds until a copy is likely to answer; 0 if one does, or if nobody has looked yet."""
        if self.state in ("", READY):
            return 0
        usual = self.usual_seconds(estimate)
        took = now - self.began_at if self.is_starting else 0
        left = usual - took if took < usual else min(took * _SHARE_OF_A_LATE_START, usual)
        return round(max(left, _SHORTEST_WAIT_IN_SECONDS))


def from_item(item: Mapping[str, Any]) -> WakeRow:
    """Read the row. Unknown attributes, which another version added, are ignored."""
    values: dict[str, Any] = {name: item[name]["S"] for name in _TEXTS if name in item}
    values |= {name: float(item[name]["N"]) for name in _NUMBERS if name in item}
    return WakeRow(**values, asks=int(item.get("asks", {"N": "0"})["N"]))


def to_values(row: WakeRow) -> dict[str, dict[str, str]]:
    """Return the attributes of a row."""
    texts = {name: {"S": getattr(row, name)} for name in _TEXTS}
    return texts | {name: number(getattr(row, name)) for name in _NUMBERS} | {"asks": number(row.asks)}


def seen(row: WakeRow, component: Component, now: float) -> WakeRow:
    """Return the row after a look at the component."""
    state = component.state
    changed = replace(row, state=state, status=component.status, reason=component.reason)
    if component.lacked_an_instance and row.asked_at > row.ready_at and now - row.asked_at > _HEARD_AFTER_IN_SECONDS:
        changed = _given_back(changed)
    if state == READY:
        return replace(changed, reason="", ready_at=now)
    if state == STARTING and not row.is_starting:
        return replace(changed, began_at=now)  # somebody else has asked, such as the alarm
    if state == ASLEEP and row.state == STARTING and now - row.asked_at <= _HEARD_AFTER_IN_SECONDS:
        return replace(changed, state=STARTING)  # SageMaker's view may not yet show the ask
    if state == ASLEEP and row.state == FAILED and now - row.asked_at <= _REFUSED_FOR_IN_SECONDS:
        return replace(changed, state=FAILED, reason=row.reason)  # SageMaker has refused the last ask
    return changed


def measured_wake(row: WakeRow, component: Component, now: float, looked_before: float) -> float | None:
    """Return the seconds of the wake that a look finds ended; None if none has, or if nobody has watched it.

    row: before the look. looked_before: when the look before it was. A wake is measured from our own first ask.
    """
    was_watched = now - looked_before <= _MEASURED_WITHIN_IN_SECONDS
    if component.current and row.is_starting and row.asked_at > row.ready_at and was_watched:
        return max(now - row.began_at, 1)
    return None


def asked(row: WakeRow, now: float) -> WakeRow:
    """Return the row of a model for which SageMaker is about to be asked for a copy.

    A start after one that failed counts as failed until a look finds that it goes on.
    """
    today = day_of(now)
    asks = (row.asks if row.day == today else 0) + 1
    state, began = (FAILED if row.state == FAILED else STARTING), (row.began_at if row.is_starting else now)
    return replace(row, state=state, asked_at=now, began_at=began, day=today, asks=asks)


def refused(row: WakeRow, reason: str) -> WakeRow:
    """Return the row of a model for which SageMaker has refused a copy. It started nothing, so it does not count."""
    return replace(_given_back(row), state=FAILED, reason=reason)


def _given_back(row: WakeRow) -> WakeRow:
    """Return the row without its last ask, which billed nothing. It is given back once."""
    if row.given_back_at == row.asked_at:
        return row
    return replace(row, asks=max(row.asks - 1, 0), given_back_at=row.asked_at)


def wants_a_copy(component: Component) -> bool:
    """Whether to ask for a copy helps: none runs, and none is about to."""
    return not component.current and (
        component.status == "Failed" or (component.status == "InService" and not component.desired)
    )


def day_of(now: float) -> str:
    """Return the day in UTC on which a wake counts."""
    return datetime.fromtimestamp(now, UTC).date().isoformat()


def renews_at(now: float) -> datetime:
    """Return when the budget of wakes renews: at midnight in UTC."""
    return datetime.fromtimestamp(now, UTC).replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1)
