"""The faults that a test has asked for: which calls they hit, how often, and how often they did."""

import random
import threading
import time
from collections import Counter
from dataclasses import MISSING, asdict, dataclass, field, fields
from typing import Any

# What a fault may do, by where it can.
CALL_KINDS = {"throttle", "error", "error_after", "delay", "kill"}
DELIVERY_KINDS = {"drop", "duplicate", "delay"}
RUN_KINDS = {"throttle", "error", "error_after", "delay", "kill"}
DELIVERIES = {("sqs", "SendMessage"), ("sns", "Deliver"), ("events", "Deliver")}
CALLERS = {"functions", "everybody"}


@dataclass
class Fault:
    """One kind of fault in one operation of one service; docs/local-cloud.md says what each member means."""

    service: str
    operation: str
    fault: str
    count: int | None = None
    seconds: float | None = None
    share: float = 1.0
    seed: int = 0
    function: str = ""
    target: str = ""
    callers: str = "functions"
    after_seconds: float = 0.0
    code: str = ""
    injected: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        self._check()
        self._random = random.Random(self.seed)
        self._until = None if self.seconds is None else time.monotonic() + self.seconds

    def _check(self) -> None:
        for name in ("count", "seconds", "share", "seed", "after_seconds"):
            value = getattr(self, name)
            if value is not None and (isinstance(value, bool) or not isinstance(value, int | float)):
                raise ValueError(f"{name}: {value!r} is no number.")
        kinds: set[str] = set()
        if self.service == "lambda" and self.operation == "Invoke":
            kinds = RUN_KINDS
        elif (self.service, self.operation) in DELIVERIES:
            kinds = DELIVERY_KINDS | (CALL_KINDS if self.operation != "Deliver" else set())
        elif self.service != "lambda":
            kinds = CALL_KINDS
        if self.fault not in kinds:
            allowed = ", ".join(sorted(kinds)) or "nothing; use its operation Invoke"
            raise ValueError(f"fault: {self.fault!r} can't happen to {self.service} {self.operation}; use {allowed}.")
        if (self.count is None) == (self.seconds is None):
            raise ValueError("Give exactly one of count (how many calls) and seconds (for how long).")
        if self.callers not in CALLERS:
            raise ValueError(f"callers: {self.callers!r} is not one of {', '.join(sorted(CALLERS))}.")

    @property
    def is_armed(self) -> bool:
        """Whether it can still hit."""
        if self._until is not None:
            return time.monotonic() < self._until
        return self.count is not None and self.injected < self.count

    def hits(self, service: str, operation: str, function: str, target: str) -> bool:
        """Whether it hits this call; with a `share` below 1, the next draw of its own seeded sequence decides."""
        return (
            (self.service, self.operation) == (service, operation)
            and self.function in function
            and self.target in target
            and self.is_armed
            and (self.share >= 1 or self._random.random() < self.share)
        )


_lock = threading.Lock()
_faults: list[Fault] = []


def any_armed() -> bool:
    return any(fault.is_armed for fault in _faults)


def take(
    service: str, operation: str, kinds: set[str], *, function: str = "", target: str = "", by_function: bool = True
) -> Fault | None:
    """The fault that hits this call, counted as injected; None for none."""
    with _lock:
        for fault in _faults:
            wanted = by_function or fault.callers == "everybody"
            if fault.fault in kinds and wanted and fault.hits(service, operation, function, target):
                fault.injected += 1
                return fault
    return None


def arm(request: Any) -> dict[str, Any]:
    """Add a fault as it was sent. Raises ValueError when it makes no sense."""
    known = {each.name: each for each in fields(Fault) if each.init}
    if not isinstance(request, dict) or not set(request) <= set(known):
        raise ValueError(f"A fault is an object with members of: {', '.join(known)}.")
    if missing := [name for name, each in known.items() if each.default is MISSING and name not in request]:
        raise ValueError(f"A fault needs {', '.join(missing)}.")
    fault = Fault(**request)
    with _lock:
        _faults.append(fault)
    return show()


def show() -> dict[str, Any]:
    """Every fault since the last clearing, and how many were really injected, in all and by kind."""
    with _lock:
        by_kind = Counter[str]()
        for fault in _faults:
            by_kind[fault.fault] += fault.injected
        listed = [asdict(fault) | {"armed": fault.is_armed} for fault in _faults]
    return {"faults": listed, "injected": dict(by_kind)}


def clear() -> dict[str, Any]:
    """Forget all faults; what was injected until now."""
    shown = show()
    with _lock:
        _faults.clear()
    return shown
