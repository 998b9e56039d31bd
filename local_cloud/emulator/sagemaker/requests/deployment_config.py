"""The rollout that a DeploymentConfig asks for, and SageMaker's checks of it."""

import math
from dataclasses import dataclass
from typing import Any

from local_cloud.emulator.sagemaker.requests.validation import InvalidRequestError, broken_rule, check_range, required

DEFAULT_EXECUTION_SECONDS = 28_800
_PATH = "DeploymentConfig"
_WAIT, _LIMIT = (0, 3600), (600, 28_800)


@dataclass(frozen=True)
class Rollout:
    """How an update of `count` instances goes; times in seconds of the cloud.

    canary: new instances that get requests first; 0 = none. batch, rollback_batch: instances that start at a time.
    first_watch: watch of the canary. watch: watch of each batch, or of all new instances.
    """

    count: int
    canary: int
    batch: int
    rollback_batch: int
    first_watch: float
    watch: float
    longest: float

    @property
    def is_rolling(self) -> bool:
        """Whether new instances start in batches."""
        return self.batch < self.count

    @property
    def watched_seconds(self) -> float:
        """How long the alarms are watched in all."""
        return self.first_watch + self.watch * (math.ceil(self.count / self.batch) if self.batch else 1)


def rollout_of(deployment: dict[str, Any], count: int) -> Rollout:
    """The rollout for an update to `count` instances. Raises InvalidRequestError if SageMaker refuses it."""
    blue_green, rolling = (deployment.get(name) or {} for name in ("BlueGreenUpdatePolicy", "RollingUpdatePolicy"))
    if blue_green and rolling:
        raise InvalidRequestError("Only one update policy should be used in the deployment configuration.")
    if rolling:
        return _rolling(rolling, count)
    traffic = blue_green.get("TrafficRoutingConfiguration") or {"Type": "ALL_AT_ONCE", "WaitIntervalInSeconds": 0}
    path = f"{_PATH}.BlueGreenUpdatePolicy"
    first = _seconds(traffic, f"{path}.TrafficRoutingConfiguration", "WaitIntervalInSeconds", _WAIT)
    last = _seconds(blue_green, path, "TerminationWaitInSeconds", _WAIT, 0)
    longest = _longest(blue_green, path)
    kind = required(traffic, "Type")
    if kind not in ("ALL_AT_ONCE", "CANARY"):
        raise InvalidRequestError(f"The local cloud knows traffic routing of type ALL_AT_ONCE and CANARY, not {kind}.")
    if longest <= first + last:
        raise InvalidRequestError("MaximumExecutionTimeoutInSeconds must be larger than the total waiting time.")
    if kind == "ALL_AT_ONCE":
        return Rollout(count, 0, count, count, 0, last, longest)
    canary = _instances(required(traffic, "CanarySize"), count)
    if 2 * canary > count:
        raise InvalidRequestError(
            f"The CanarySize is {canary} of {count} instance(s); it must be less than or equal to 50% of the variant's "
            "total instance count."
        )
    return Rollout(count, canary, count, count, first, last, longest)


def check_batch(rollout: Rollout, running: int) -> None:
    """Refuse batches that are not 5 to 50 % of the instances that run. AWS may count the new ones only."""
    if rollout.is_rolling and not 2 * rollout.batch <= running <= 20 * rollout.batch:
        raise _wrong_batch(rollout.batch, running)


def _rolling(policy: dict[str, Any], count: int) -> Rollout:
    path = f"{_PATH}.RollingUpdatePolicy"
    batch = _instances(required(policy, "MaximumBatchSize"), count)
    if not 2 * batch <= count <= 20 * batch:
        raise _wrong_batch(batch, count)
    watch = _seconds(policy, path, "WaitIntervalInSeconds", _WAIT)
    back = _instances(policy.get("RollbackMaximumBatchSize") or {"Type": "CAPACITY_PERCENT", "Value": 100}, count)
    return Rollout(count, 0, batch, back, 0, watch, _longest(policy, path))


def _wrong_batch(batch: int, count: int) -> InvalidRequestError:
    return InvalidRequestError(
        f"The MaximumBatchSize is {batch} of {count} instance(s); it must be between 5% and 50% of the variant's total "
        "instance count."
    )


def _instances(size: dict[str, Any], count: int) -> int:
    value = int(required(size, "Value"))
    return value if required(size, "Type") == "INSTANCE_COUNT" else math.ceil(count * value / 100)


def _longest(policy: dict[str, Any], path: str) -> float:
    return _seconds(policy, path, "MaximumExecutionTimeoutInSeconds", _LIMIT, DEFAULT_EXECUTION_SECONDS)


def _seconds(
    policy: dict[str, Any], path: str, name: str, limits: tuple[int, int], default: int | None = None
) -> float:
    seconds = policy.get(name, default)
    if seconds is None:
        raise broken_rule("null", f"{path}.{name}", "Member must not be null")
    check_range(int(seconds), f"{path}.{name}", *limits)
    return float(seconds)
