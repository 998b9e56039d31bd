"""Whether a machine takes jobs, and until when it is likely to, by the machines' rows."""

from collections.abc import Callable
from typing import Any

from inference_api.machines.row import MachineRow, usual_boot
from inference_api.machines.rows import MachineRows
from inference_api.shared import errors
from inference_api.shared.conditional_writes import PASSING_ERRORS
from inference_api.shared.model_states import ASLEEP, FAILED, READY, STARTING

# A refusal such as a lack of capacity is shown for so long after the last one: the tender tries each minute.
_REFUSAL_IN_SECONDS = 300
_SHORTEST_WAIT_IN_SECONDS = 5
_STATES = {"InService": READY, "Starting": STARTING, "Stopping": ASLEEP, "Failed": FAILED, "Stopped": ASLEEP}
# One that takes longer than usual may end at any moment.
_SHARE_OF_A_LATE_START = 0.05


class Readiness:
    """boot_limit: seconds after which a machine that was started and not heard of has failed."""

    def __init__(self, rows: MachineRows, clock: Callable[[], float], boot_limit: float) -> None:
        self._rows, self._clock, self._boot_limit = rows, clock, boot_limit
        self._has_begun = False

    def demand(self) -> None:
        """Raises ApiError 503 before the first answer of a model; rows that can't be read refuse nothing."""
        if self._has_begun:
            return
        try:
            self._has_begun = any(row.ready_at for row in self._rows.each())
        except PASSING_ERRORS:
            return
        if not self._has_begun:
            raise errors.endpoint_not_ready("no machine yet", ran=False)

    def seconds_until_ready(self) -> int:
        """0 while a machine takes jobs, or nobody can tell; else the rest of the usual boot, or part of a late one."""
        now = self._clock()
        try:
            rows = list(self._rows.each())
        except PASSING_ERRORS:
            return 0
        if any(row.is_alive(now) for row in rows):
            return 0
        usual = usual_boot(rows)
        starts = [row.asked_at for row in rows if self._starts(row, now)]
        if not starts:
            return round(usual)
        took = now - max(starts)
        left = usual - took if took < usual else min(took * _SHARE_OF_A_LATE_START, usual)
        return round(max(left, _SHORTEST_WAIT_IN_SECONDS))

    def describe(self) -> dict[str, Any]:
        """status: the best of the machines. since: when the start was asked for; None unless one starts."""
        now, rows = self._clock(), list(self._rows.each())
        status = next(status for status, holds in self._statuses(rows, now).items() if holds)
        since = max((row.asked_at for row in rows), default=0) if status == "Starting" else 0
        return {"status": status, "since": since or None, "usual_seconds": round(usual_boot(rows))}

    def state(self) -> str:
        """READY, STARTING, ASLEEP or FAILED. Raises botocore's errors."""
        return _STATES[self.describe()["status"]]

    def _statuses(self, rows: list[MachineRow], now: float) -> dict[str, bool]:
        """The first that holds counts."""
        return {
            "InService": any(row.is_alive(now) for row in rows),
            "Starting": any(self._starts(row, now) for row in rows) or not any(row.ready_at for row in rows),
            "Stopping": any(row.is_stopping(now) for row in rows),
            "Failed": any(row.is_awaited for row in rows)
            or any(row.refused_at > row.seen_at and now - row.refused_at <= _REFUSAL_IN_SECONDS for row in rows),
            "Stopped": True,
        }

    def _starts(self, row: MachineRow, now: float) -> bool:
        return row.is_loading(now) or (row.is_awaited and now - row.asked_at <= self._boot_limit)
