"""OperationPreferences: in which order, how many at once, and after how many failures an operation stops."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from local_cloud.emulator.stack_sets.refusal import StackSetsError

_STRICT = "STRICT_FAILURE_TOLERANCE"


@dataclass(frozen=True)
class Preferences:
    """As given, with the API's names; the rules are those of the API's reference (StackSetOperationPreferences)."""

    given: dict[str, Any]

    def __post_init__(self) -> None:
        for name in ("FailureTolerance", "MaxConcurrent"):
            if {f"{name}Count", f"{name}Percentage"} <= set(self.given):
                raise StackSetsError("ValidationError", f"You can specify either {name}Count or {name}Percentage.")

    @property
    def is_strict(self) -> bool:
        return bool(self.given.get("ConcurrencyMode", _STRICT) == _STRICT)

    @property
    def is_parallel(self) -> bool:
        return bool(self.given.get("RegionConcurrencyType") == "PARALLEL")

    def ordered(self, regions: Iterable[str]) -> list[str]:
        """RegionOrder first, then the others by name."""
        first = self.given.get("RegionOrder") or []
        return sorted(set(regions), key=lambda each: (first.index(each) if each in first else len(first), each))

    def tolerated(self, accounts: int) -> int:
        """In how many of a region's accounts the operation may fail."""
        if "FailureTolerancePercentage" in self.given:
            return accounts * int(self.given["FailureTolerancePercentage"]) // 100
        return int(self.given.get("FailureToleranceCount", 0))

    def at_once(self, accounts: int, failures: int) -> int:
        """In how many of a region's accounts the operation runs at a time, after so many failures."""
        if "MaxConcurrentPercentage" in self.given:
            most = max(1, accounts * int(self.given["MaxConcurrentPercentage"]) // 100)
        else:
            most = int(self.given.get("MaxConcurrentCount", 1))
        return min(most, self.tolerated(accounts) + 1 - failures) if self.is_strict else most


AUTOMATIC = Preferences(
    {
        "RegionConcurrencyType": "PARALLEL",
        "ConcurrencyMode": "SOFT_FAILURE_TOLERANCE",
        "MaxConcurrentPercentage": 100,
        "FailureTolerancePercentage": 100,
    }
)
