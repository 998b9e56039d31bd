"""The start of a component endpoint's instances: how long it takes, and faults that tests order for it."""

import threading
from dataclasses import asdict, dataclass, field
from typing import Any

from local_cloud.emulator.core import ministack

PATH = "/_slipway/endpoint-instances"
KINDS = ("no_capacity", "quota")


@dataclass
class InstanceFault:
    """A fault in the next `count` attempts to start an instance."""

    fault: str
    count: int = 1
    injected: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        if self.fault not in KINDS:
            raise ValueError(f"fault: {self.fault!r} is not one of {', '.join(KINDS)}.")


_lock = threading.Lock()
_faults: list[InstanceFault] = []
_start_seconds = 2.0


def start_seconds() -> float:
    """The time that an instance takes to start, in seconds of the cloud."""
    return _start_seconds


def take(kind: str) -> bool:
    """Whether a fault of this kind hits the attempt; it is counted as injected."""
    with _lock:
        for fault in _faults:
            if fault.fault == kind and fault.injected < fault.count:
                fault.injected += 1
                return True
    return False


def _order(request: Any) -> dict[str, Any]:
    global _start_seconds
    if not isinstance(request, dict) or not (request.keys() <= {"fault", "count"} or set(request) == {"start_seconds"}):
        raise ValueError("The request is an object with either fault and count, or start_seconds.")
    if "fault" in request:
        with _lock:
            _faults.append(InstanceFault(**request))
    else:
        _start_seconds = float(request["start_seconds"])
    return show()


def show() -> dict[str, Any]:
    with _lock:
        return {"start_seconds": _start_seconds, "faults": [asdict(fault) for fault in _faults]}


def _clear(request: Any) -> dict[str, Any]:
    shown = show()
    with _lock:
        _faults.clear()
    return shown


def install() -> None:
    ministack.register_command("POST", PATH, _order)
    ministack.register_command("DELETE", PATH, _clear)
