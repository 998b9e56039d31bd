"""Faults that tests order for machines: no capacity, a boot that hangs, a command that fails."""

import threading
from dataclasses import asdict, dataclass, field
from typing import Any

from local_cloud.emulator.core import ministack

PATH = "/_slipway/machine-faults"
KINDS = ("no_capacity", "boot_hangs", "command_fails")


@dataclass
class MachineFault:
    """A fault in the next `count` starts of machines; `command` is the failing command of `command_fails`."""

    fault: str
    count: int = 1
    command: str = ""
    injected: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        if self.fault not in KINDS:
            raise ValueError(f"fault: {self.fault!r} is not one of {', '.join(KINDS)}.")
        if bool(self.command) != (self.fault == "command_fails") or "/" in self.command:
            raise ValueError("command: command_fails needs the name of a command, the others take none.")


_lock = threading.Lock()
_faults: list[MachineFault] = []


def take(kind: str) -> MachineFault | None:
    """The next fault of this kind, None for none; it is counted as injected."""
    with _lock:
        for fault in _faults:
            if fault.fault == kind and fault.injected < fault.count:
                fault.injected += 1
                return fault
    return None


def _order(request: Any) -> dict[str, Any]:
    if not isinstance(request, dict) or not {"fault"} <= set(request) <= {"fault", "count", "command"}:
        raise ValueError("A fault of a machine is an object with fault, count, command.")
    with _lock:
        _faults.append(MachineFault(**request))
    return _show()


def _show() -> dict[str, Any]:
    with _lock:
        return {"faults": [asdict(fault) for fault in _faults]}


def _clear(request: Any) -> dict[str, Any]:
    """Forget all faults, or only those of the kind that the request names."""
    shown, kind = _show(), (request or {}).get("fault")
    with _lock:
        _faults[:] = [fault for fault in _faults if kind and fault.fault != kind]
    return shown


def install() -> None:
    ministack.register_command("POST", PATH, _order)
    ministack.register_view(PATH, _show)
    ministack.register_command("DELETE", PATH, _clear)
