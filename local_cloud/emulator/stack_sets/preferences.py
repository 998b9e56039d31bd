"""OperationPreferences: the order of regions, the concurrency, and the failures after which an operation stops."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from local_cloud.emulator.stack_sets.refusal import StackSetsError

_STRICT = "STRICT_FAILURE_TOLERANCE"


@dataclass(frozen=True)
class Preferences:
    """Preferences in the API's form; the rules are in the API reference of StackSetOperationPreferences."""

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
        """Regions in the order of RegionOrder, then the others by name."""
        first = self.given.get("RegionOrder") or []
        return sorted(set(regions), key=lambda each: (first.index(each) if each in first else len(first), each))

    def tolerated(self, accounts: int) -> int:
        """The number of a region's accounts in which the operation may fail."""
        if "FailureTolerancePercentage" in self.given:
            return accounts * int(self.given["FailureTolerancePercentage"]) // 100
        return int(self.given.get("FailureToleranceCount", 0))

    def at_once(self, accounts: int, failures: int) -> int:
        """The number of a region's accounts in which the operation runs at once, after this many failures."""
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
