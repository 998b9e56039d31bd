"""A variant whose count of instances Application Auto Scaling changes, within its limits and one step at a time."""

import time
from collections.abc import Callable, Sequence

from local_cloud.emulator import clock
from local_cloud.emulator.cloudwatch_alarms import values_of_periods
from local_cloud.emulator.sagemaker_endpoint import Endpoint
from local_cloud.emulator.sagemaker_store import endpoints
from local_cloud.emulator.scaling_cooldowns import Cooldowns
from local_cloud.emulator.target_tracking import Reading, TargetTracking

Wanted = Callable[[int], int | None]


class ScalableTarget:
    """A change takes as long as the endpoint needs for it; until then nothing else is decided."""

    def __init__(self, resource_id: str) -> None:
        self.resource_id = resource_id
        self._minimum = self._maximum = 0
        self._cooldowns = Cooldowns()
        # Basis, capacity and cooldown of the change that is under way.
        self._pending: tuple[int, int, float] | None = None
        self._next_look = 0.0

    def set_limits(self, minimum: int, maximum: int) -> None:
        self._minimum, self._maximum = minimum, maximum

    def step(self, wanted_from: Wanted, cooldown: float) -> None:
        """Follow a step scaling policy: wanted_from(capacity) is the capacity that it asks for, None for no change."""
        endpoint = self._idle_endpoint()
        if endpoint is None:
            return
        wanted = wanted_from(endpoint.desired_count)
        if wanted is not None and wanted > endpoint.desired_count:
            self._scale_out(endpoint, wanted_from, cooldown)
        elif wanted is not None:
            self._scale_in(endpoint, wanted, cooldown)

    def track(self, policies: Sequence[TargetTracking]) -> None:
        """Follow all target tracking policies: out when any of them asks for it, in when all of them agree."""
        endpoint, now = self._idle_endpoint(), time.monotonic()
        if endpoint is None or not policies or now < self._next_look:
            return
        self._next_look = now + clock.shortened(min(policy.period for policy in policies))
        readings = [(policy, _read(policy)) for policy in policies]
        high = [(policy, reading) for policy, reading in readings if reading and reading.is_high]
        agreeing = [(policy, reading) for policy, reading in readings if policy.scales_in]
        if high:
            cooldown = max(policy.scale_out_cooldown for policy, _ in high)
            self._scale_out(endpoint, lambda capacity: _most(high, capacity), cooldown)
        elif agreeing and all(reading and reading.is_low for _, reading in agreeing):
            low = [(policy, reading) for policy, reading in agreeing if reading]
            cooldown = max(policy.scale_in_cooldown for policy, _ in low)
            self._scale_in(endpoint, _most(low, endpoint.desired_count), cooldown)

    def _idle_endpoint(self) -> Endpoint | None:
        """The endpoint when it can be changed now; a change that has just ended starts its cooldown."""
        endpoint: Endpoint | None = endpoints.get(self.resource_id.split("/")[1])
        if endpoint is None or endpoint.status != "InService":
            return None
        if self._pending:
            basis, after, cooldown = self._pending
            self._pending = None
            if endpoint.desired_count == after:  # otherwise it failed
                self._cooldowns.begin(basis, after, time.monotonic() + clock.shortened(cooldown))
        return endpoint

    def _scale_out(self, endpoint: Endpoint, wanted_from: Wanted, cooldown: float) -> None:
        basis = self._cooldowns.basis_of_scale_out(endpoint.desired_count, time.monotonic())
        wanted = min(wanted_from(basis) or 0, self._maximum)
        if wanted > endpoint.desired_count:
            self._change(endpoint, basis, wanted, cooldown)

    def _scale_in(self, endpoint: Endpoint, wanted: int, cooldown: float) -> None:
        wanted = max(wanted, self._minimum)
        if wanted < endpoint.desired_count and self._cooldowns.may_scale_in(time.monotonic()):
            self._change(endpoint, endpoint.desired_count, wanted, cooldown)

    def _change(self, endpoint: Endpoint, basis: int, count: int, cooldown: float) -> None:
        self._pending = (basis, count, cooldown)
        endpoint.scale_to(count)


def _read(policy: TargetTracking) -> Reading | None:
    return policy.read(values_of_periods(policy.metric, policy.period, policy.periods, time.time()))


def _most(readings: Sequence[tuple[TargetTracking, Reading]], capacity: int) -> int:
    return max(policy.wanted_from(capacity, reading.value) for policy, reading in readings)
