"""Random faults: their rates, drawn from the seed for each call of a handler, and counts of those injected."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

# Faults of a call: the function dies before or after its effect; it fails without effect, or its answer is lost.
CRASH_BEFORE, CRASH_AFTER = "crash before the call's effect", "crash after the call's effect"
ERROR, UNKNOWN = "error without effect", "error after the effect"
THROTTLED, CONFLICT = "throttled", "transaction conflict"


@dataclass(frozen=True)
class Rates:
    """The probabilities of faults, from 0 to 1."""

    crash: float = 0.0
    error: float = 0.0
    unknown_outcome: float = 0.0
    throttle: float = 0.0
    conflict: float = 0.0
    event_refused: float = 0.0
    duplicate_message: float = 0.0
    lost_message: float = 0.0
    slow_message: float = 0.0
    function_throttled: float = 0.0
    broken_output: float = 0.0
    double_sweep: float = 0.0
    model_error: float = 0.0
    model_refusal: float = 0.0
    model_crash: float = 0.0
    slow_answer: float = 0.0
    death_in_stream: float = 0.0
    scale_in: float = 0.0
    failed_start: float = 0.0
    no_capacity: float = 0.0
    boot_hangs: float = 0.0
    worker_killed: float = 0.0
    worker_hangs: float = 0.0
    machine_stopped: float = 0.0
    machine_vanishes: float = 0.0
    machine_replaced: float = 0.0

    @classmethod
    def harsh(cls) -> "Rates":
        """Return the rates of `make chaos`."""
        return cls(
            crash=0.02,
            error=0.02,
            unknown_outcome=0.02,
            throttle=0.05,
            conflict=0.05,
            event_refused=0.02,
            duplicate_message=0.10,
            lost_message=0.01,
            slow_message=0.05,
            function_throttled=0.01,
            broken_output=0.03,
            double_sweep=0.15,
            model_error=0.06,
            model_refusal=0.03,
            model_crash=0.004,
            slow_answer=0.02,
            death_in_stream=0.05,
            scale_in=0.01,
            failed_start=0.2,
            no_capacity=0.3,
            boot_hangs=0.15,
            worker_killed=0.02,
            worker_hangs=0.004,
            machine_stopped=0.01,
            machine_vanishes=0.002,
            machine_replaced=0.002,
        )


@dataclass
class Faults:
    """Injects faults. functions: only their calls fail; empty for all. injected: how often, by kind of fault."""

    rates: Rates
    random: Random
    functions: tuple[str, ...] = ()
    injected: Counter[str] = field(default_factory=Counter)
    invalid_calls: Counter[str] = field(default_factory=Counter)
    observers: list[Callable[[], None]] = field(default_factory=list)
    on: bool = True

    def happens(self, name: str, chance: float) -> bool:
        """Whether a fault is injected now. It is counted under `name`."""
        if not self.on or chance <= 0 or self.random.random() >= chance:
            return False
        self.injected[name] += 1
        return True

    def of_call(self, operation: str, function: str) -> str | None:
        """Return the fault of one call of a function; None for no fault."""
        if self.functions and function not in self.functions:
            return None
        rates = self.rates
        # The death of a machine's worker takes several jobs with it.
        crash = rates.crash / (10 if function == "resident_worker" else 1)
        kinds = [
            (CRASH_BEFORE, crash / 2),
            (CRASH_AFTER, crash / 2),
            (ERROR, rates.error),
            (UNKNOWN, rates.unknown_outcome),
            (THROTTLED, rates.throttle),
            (CONFLICT, rates.conflict if operation == "TransactWriteItems" else 0),
        ]
        draw = self.random.random() if self.on else 1.0
        for kind, chance in kinds:
            if draw < chance:
                self.injected[kind] += 1
                for observe in self.observers:
                    observe()
                return kind
            draw -= chance
        return None

    def record(self, name: str) -> None:
        self.injected[name] += 1
