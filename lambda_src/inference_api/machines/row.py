"""The row of a machine in the job table, and its changes as pure functions."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

LOADING, IDLE, BUSY, STOPPING = "loading", "idle", "busy", "stopping"

BEAT_IN_SECONDS = 20
# Long enough to lose three beats, and for clocks that differ.
ALIVE_IN_SECONDS = 90
# A machine that is silent for so long counts as broken. Throttling by AWS is much shorter.
SILENT_IN_SECONDS = 300
USUAL_BOOT_IN_SECONDS = 120
_LONGEST_BOOT_IN_SECONDS = 3600

_TEXTS = ("instance_id", "state")
_NUMBERS = ("seen_at", "ready_at", "busy_at", "boot_in_seconds", "tried_at", "asked_at", "refused_at")


@dataclass(frozen=True)
class MachineRow:
    """One machine, as its worker last described it. Times are in seconds since the epoch; 0 is never.

    instance_id: the instance whose worker registered last. state: LOADING, IDLE, BUSY or STOPPING. seen_at: the last
    beat. ready_at: when the model last answered, on this instance or an earlier one. busy_at: when the machine last had
    work, or booted. boot_in_seconds: the last measured time from a start to the model's first answer. tried_at: when
    EC2 was last asked for a start. asked_at: when EC2 last accepted one. refused_at: when EC2 last refused one.
    """

    number: int
    instance_id: str = ""
    state: str = ""
    seen_at: float = 0
    ready_at: float = 0
    busy_at: float = 0
    boot_in_seconds: float = 0
    tried_at: float = 0
    asked_at: float = 0
    refused_at: float = 0

    @property
    def is_awaited(self) -> bool:
        """Whether EC2 has accepted a start, and nothing has been heard of the machine since."""
        return self.asked_at > max(self.seen_at, self.refused_at)

    def is_alive(self, now: float) -> bool:
        """Whether the machine takes jobs."""
        return self.state in (IDLE, BUSY) and self._is_heard(now)

    def is_loading(self, now: float) -> bool:
        """Whether the machine's worker waits for the model."""
        return self.state == LOADING and self._is_heard(now)

    def is_stopping(self, now: float) -> bool:
        """Whether the machine's worker has said that it stops."""
        return self.state == STOPPING and self._is_heard(now)

    def _is_heard(self, now: float) -> bool:
        # A beat from before the last accepted start belongs to an earlier boot.
        return self.seen_at >= self.asked_at and now - self.seen_at <= ALIVE_IN_SECONDS


def machine_key(number: int) -> dict[str, Any]:
    """Return the key of a machine's row."""
    return {"pk": {"S": f"machine#{number}"}}


def from_item(number: int, item: Mapping[str, Any]) -> MachineRow:
    """Read a row. Unknown attributes, which another version added, are ignored."""
    values: dict[str, Any] = {name: item[name]["S"] for name in _TEXTS if name in item}
    return MachineRow(number, **values | {name: float(item[name]["N"]) for name in _NUMBERS if name in item})


def usual_boot(rows: Iterable[MachineRow]) -> float:
    """Return the seconds from a start to the model's first answer, as last measured."""
    return max((row.boot_in_seconds for row in rows), default=0) or USUAL_BOOT_IN_SECONDS


def register(row: MachineRow, instance_id: str, now: float) -> MachineRow:
    """Return the row of a worker that begins: after a boot, or right after the machine's last worker has ended."""
    again = row.instance_id == instance_id and now - row.seen_at <= SILENT_IN_SECONDS
    return replace(row, instance_id=instance_id, state=LOADING, seen_at=now, busy_at=row.busy_at if again else now)


def begin_service(row: MachineRow, earlier: MachineRow, now: float) -> MachineRow:
    """Return the row of a worker whose model begins to answer.

    earlier: the row before the worker registered, from which the boot time is measured.
    """
    was_asked_for = earlier.asked_at > earlier.seen_at
    boot = min(max(now - earlier.asked_at, 1), _LONGEST_BOOT_IN_SECONDS) if was_asked_for else row.boot_in_seconds
    return replace(row, state=IDLE, seen_at=now, ready_at=now, boot_in_seconds=boot)


def beat(row: MachineRow, state: str, now: float) -> MachineRow:
    """Return the row after a beat of the worker. In every state but LOADING the model answers, too."""
    changed = replace(row, state=state, seen_at=now)
    if state == LOADING:
        return changed
    return replace(changed, ready_at=now, busy_at=now if BUSY in (state, row.state) else row.busy_at)
