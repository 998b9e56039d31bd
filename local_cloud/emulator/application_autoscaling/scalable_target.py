"""A scalable target: a variant or component, whose instances or copies change within limits, a step at a time."""

import time
from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

from local_cloud.emulator.application_autoscaling.policies import Reading, TargetTracking
from local_cloud.emulator.application_autoscaling.scheduled_actions import ScheduledAction
from local_cloud.emulator.core import clock
from local_cloud.emulator.services import cloudwatch

Wanted = Callable[[int], int | None]


class _CapacityChange(NamedTuple):
    """A change of capacity, computed from `basis`; `ends_at` is the end of its cooldown."""

    basis: int
    capacity: int
    cooldown: float
    ends_at: float = 0.0

    @property
    def is_out(self) -> bool:
        return self.capacity > self.basis


class Scalable(Protocol):
    """What is scaled: an endpoint or a component."""

    desired_count: int
    scalable_target: object | None

    @property
    def is_idle(self) -> bool: ...
    def scale_to(self, count: int) -> None: ...


class ScalableTarget:
    """Scales a resource; while a change is in progress, nothing else is decided."""

    def __init__(self, resource: Scalable) -> None:
        self._resource = resource
        self._minimum = self._maximum = 0
        self._actions: Sequence[ScheduledAction] = ()
        # Whether a scheduled action waits for the resource to be idle, to bring the capacity between its limits.
        self._must_fit = False
        self._pending: _CapacityChange | None = None
        self._last: _CapacityChange | None = None
        self._next_look = 0.0

    def set_limits(self, minimum: int, maximum: int) -> None:
        self._minimum, self._maximum = minimum, maximum

    def set_schedule(self, actions: Sequence[ScheduledAction]) -> None:
        self._actions = actions

    def follow_schedule(self) -> None:
        """Apply the scheduled actions that are due; unlike other limits, theirs change the capacity at once."""
        for action in [each for each in self._actions if each.is_due()]:
            minimum, maximum = action.limits
            self._minimum = self._minimum if minimum is None else minimum
            self._maximum = self._maximum if maximum is None else maximum
            self._must_fit = True
        if self._must_fit and self._is_idle():
            self._must_fit = False
            wanted = min(max(self._resource.desired_count, self._minimum), self._maximum)
            if wanted != self._resource.desired_count:
                self._resource.scale_to(wanted)

    def step(self, wanted_from: Wanted, cooldown: float) -> None:
        """Follow a step scaling policy; wanted_from(capacity) is the capacity it asks for, None for no change."""
        if not self._is_idle():
            return
        wanted = wanted_from(self._resource.desired_count)
        if wanted is not None and wanted > self._resource.desired_count:
            self._scale_out(wanted_from, cooldown)
        elif wanted is not None:
            self._scale_in(wanted, cooldown)

    def track(self, policies: Sequence[TargetTracking]) -> None:
        """Follow all target tracking policies: scale out if any asks for it, scale in if all agree."""
        if not self._is_idle() or not policies or time.time() < self._next_look:
            return
        self._next_look = time.time() + clock.shortened(min(policy.period for policy in policies))
        readings = [(policy, reading) for policy in policies if (reading := _read(policy))]
        high = [(policy, reading) for policy, reading in readings if reading.is_high]
        low = [(policy, reading) for policy, reading in readings if reading.is_low]
        if high:
            cooldown = max(policy.scale_out_cooldown for policy, _ in high)
            self._scale_out(lambda capacity: _most(high, capacity), cooldown)
        elif len(low) == len(policies):
            cooldown = max(policy.scale_in_cooldown for policy, _ in low)
            self._scale_in(_most(low, self._resource.desired_count), cooldown)

    def _is_idle(self) -> bool:
        """Whether the resource can be changed; a change that has just ended starts its cooldown."""
        if not self._resource.is_idle:
            return False
        change, self._pending = self._pending, None
        if change and self._resource.desired_count == change.capacity:  # otherwise it failed
            self._last = change._replace(ends_at=time.time() + clock.shortened(change.cooldown))
        return True

    def _cooling(self) -> _CapacityChange | None:
        return self._last if self._last and time.time() < self._last.ends_at else None

    def _scale_out(self, wanted_from: Wanted, cooldown: float) -> None:
        # During the cooldown of a scale-out, start from the capacity before it: what it added already counts.
        cooling, current = self._cooling(), self._resource.desired_count
        basis = cooling.basis if cooling and cooling.is_out else current
        wanted = min(wanted_from(basis) or 0, self._maximum)
        if wanted > current:
            self._change(_CapacityChange(basis, wanted, cooldown))

    def _scale_in(self, wanted: int, cooldown: float) -> None:
        cooling, current = self._cooling(), self._resource.desired_count
        wanted = max(wanted, self._minimum)
        if wanted < current and (not cooling or cooling.is_out):
            self._change(_CapacityChange(current, wanted, cooldown))

    def _change(self, change: _CapacityChange) -> None:
        self._pending = change
        self._resource.scale_to(change.capacity)


def _read(policy: TargetTracking) -> Reading | None:
    series = [cloudwatch.values_of_periods(metric, policy.period, policy.periods) for metric in policy.metrics]
    return policy.read([_highest(values) for values in zip(*series, strict=True)])


def _highest(values: Sequence[float | None]) -> float | None:
    return max((value for value in values if value is not None), default=None)


def _most(readings: Sequence[tuple[TargetTracking, Reading]], capacity: int) -> int:
    return max(policy.wanted_from(capacity, reading.value) for policy, reading in readings)
