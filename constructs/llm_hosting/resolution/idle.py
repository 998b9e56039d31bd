"""Estimates what a deployment costs in a month, by what it does while nobody calls."""

from dataclasses import dataclass, replace
from datetime import timedelta

from ..catalog.instances import machine_prices
from ..deployment.settings.hosting import AwakeHours, Hosting
from . import Placement
from .estimates import MACHINE_START_IN_SECONDS, boot_in_seconds, wake_in_seconds

HOURS_OF_A_MONTH = 730
TYPICAL_BUSY_HOURS = (0, 1, 8, 24)
# Target tracking ends the last copy after 90 points of 10 s without a request, which arrive one or two minutes late.
# SageMaker releases the instance about ten minutes later. From AWS's sample notebooks; Hugging Face measured 11 and 12
# minutes in July 2026.
COPY_STAYS_IN_MINUTES, EMPTY_INSTANCE_STAYS_IN_MINUTES = 17, 10
AWAKE_AFTER_A_CALL_IN_MINUTES = COPY_STAYS_IN_MINUTES + EMPTY_INSTANCE_STAYS_IN_MINUTES
# The metric of an asynchronous endpoint has a point a minute, and target tracking waits for 15 of them.
_ASYNC_STAYS_IN_MINUTES = 17
ASSUMED_WAKE_IN_SECONDS: float | None = 480  # of a small model on a GPU: docs/idle.md
_IDLE_MINUTES: int = Hosting.model_fields["idle_minutes"].default


@dataclass(frozen=True)
class IdleTime:
    """What a deployment does while nobody calls.

    stays_in_minutes: time from the last answer until nothing bills by the hour; None = it never sleeps.
    wake_in_seconds: time from a call while asleep to the first answer; None = not known.
    kept_hours, kept_days: hours of a day, and days of a week, in which it is kept awake without calls.
    """

    stays_in_minutes: float | None
    wake_in_seconds: float | None = None
    kept_hours: float = 0
    kept_days: int = 0

    def paid_hours(self, busy_hours: float) -> float:
        """Return the hours of a month for which an instance bills.

        busy_hours: hours with calls, in one stretch on each day, as far as possible while it is kept awake.
        """
        if self.stays_in_minutes is None:
            return HOURS_OF_A_MONTH
        around = (self.stays_in_minutes + (self.wake_in_seconds or 0) / 60) / 60
        days = (max(busy_hours, self.kept_hours), busy_hours)
        kept, other = (min(24, hours + around) if hours else 0 for hours in days)
        return (self.kept_days * kept + (7 - self.kept_days) * other) / 7 * HOURS_OF_A_MONTH / 24


def idle_time(placement: Placement) -> IdleTime:
    """Return what the placement's deployment does while nobody calls."""
    hosting, ways = placement.container.deployment.hosting, ways_to_idle(placement)
    if hosting.runs_on_machines:
        return ways["ec2"]
    if hosting.queues_in_sagemaker and hosting.instance_count.min == 0:
        return ways["async"]
    if hosting.sleeps:
        kept = hosting.awake_hours
        return replace(ways["zero"], kept_hours=_hours(kept), kept_days=len(kept.days)) if kept else ways["zero"]
    return ways["always-on"]


def ways_to_idle(placement: Placement | None) -> dict[str, IdleTime]:
    """Return what a deployment would do while nobody calls, by the way to be idle, whichever of them it has.

    None = nothing is known of the deployment; then its times are those of a small model.
    """
    wake, boot, idle_minutes = ASSUMED_WAKE_IN_SECONDS, float(MACHINE_START_IN_SECONDS), _IDLE_MINUTES
    if placement:
        wake, boot = wake_in_seconds(placement).likely, boot_in_seconds(placement)
        idle_minutes = placement.container.deployment.hosting.idle_minutes
    return {
        "always-on": IdleTime(None),
        "zero": IdleTime(AWAKE_AFTER_A_CALL_IN_MINUTES, wake),
        "async": IdleTime(_ASYNC_STAYS_IN_MINUTES, wake),
        "ec2": IdleTime(idle_minutes, boot),
    }


def _hours(kept: AwakeHours) -> float:
    """Return the length of the hours on one day; an end before the start is on the next day."""
    start, end = (timedelta(hours=int(text[:2]), minutes=int(text[3:])) for text in (kept.start, kept.end))
    return (end - start) % timedelta(days=1) / timedelta(hours=1)


def usd_per_month(placement: Placement, busy_hours: float) -> float | None:
    """Return the price of one instance and its disk; None = the price of an hour is not known.

    busy_hours: hours with calls on each day.
    """
    rate, prices = placement.instance.usd_per_hour, machine_prices()
    if rate is None:
        return None
    disk = 0.0
    if placement.container.deployment.hosting.runs_on_machines:
        rate += prices.address_usd_per_hour
        disk = (placement.disk_in_gb or 0) * prices.volume_usd_per_gb_and_month
    return idle_time(placement).paid_hours(busy_hours) * rate + disk
