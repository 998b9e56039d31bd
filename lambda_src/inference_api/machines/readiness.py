"""Tells from the machines' rows whether a machine takes jobs, and when one is likely to."""

from collections.abc import Callable
from typing import Any

from inference_api.machines.row import MachineRow, usual_boot
from inference_api.machines.rows import MachineRows
from inference_api.shared import errors
from inference_api.shared.conditional_writes import PASSING_ERRORS
from inference_api.shared.model_states import ASLEEP, FAILED, READY, STARTING

# How long a refusal by EC2, such as a lack of capacity, is shown. The tender tries again each minute.
_REFUSAL_IN_SECONDS = 300
_SHORTEST_WAIT_IN_SECONDS = 5
_STATES = {"InService": READY, "Starting": STARTING, "Stopping": ASLEEP, "Failed": FAILED, "Stopped": ASLEEP}
# A start that takes longer than usual may end at any moment, so callers ask again after a small part of its time.
_SHARE_OF_A_LATE_START = 0.05


class Readiness:
    """Whether machines are ready, by their rows.

    boot_limit: seconds after a start. A machine that has not been heard of by then has failed.
    """

    def __init__(self, rows: MachineRows, clock: Callable[[], float], boot_limit: float) -> None:
        self._rows, self._clock, self._boot_limit = rows, clock, boot_limit
        self._has_begun = False

    def demand(self) -> None:
        """Raises ApiError 503 if no model has ever answered. Rows that can't be read are no reason to refuse."""
        if self._has_begun:
            return
        try:
            self._has_begun = any(row.ready_at for row in self._rows.each())
        except PASSING_ERRORS:
            return
        if not self._has_begun:
            raise errors.endpoint_not_ready("no machine yet", ran=False)

    def seconds_until_ready(self) -> int:
        """Return the seconds until a machine is likely to take jobs; 0 if one does, or if the rows can't be read.

        This is the rest of the usual boot time. If a boot is already late, it is a small part of the time that it took.
        """
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
        """Return the state of the machines for GET /endpoint.

        status: the best of the machines'. since: when the start was asked for, in seconds since the epoch; None unless
        a machine starts. usual_seconds: the usual boot time.
        """
        now, rows = self._clock(), list(self._rows.each())
        status = next(status for status, holds in self._statuses(rows, now).items() if holds)
        since = max((row.asked_at for row in rows), default=0) if status == "Starting" else 0
        return {"status": status, "since": since or None, "usual_seconds": round(usual_boot(rows))}

    def state(self) -> str:
        """Return READY, STARTING, ASLEEP or FAILED. Raises botocore's errors."""
        return _STATES[self.describe()["status"]]

    def _statuses(self, rows: list[MachineRow], now: float) -> dict[str, bool]:
        """Return for each status whether it holds. The first that holds is shown."""
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
