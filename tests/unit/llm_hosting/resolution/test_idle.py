"""Hours for which a deployment pays, by what it does while nobody calls."""

from typing import Any

import pytest

from llm_hosting.deployment.model import Deployment
from llm_hosting.deployment.settings.hosting import Hosting
from llm_hosting.resolution import Placement, resolve
from llm_hosting.resolution.estimates import boot_in_seconds, wake_in_seconds
from llm_hosting.resolution.idle import (
    AWAKE_AFTER_A_CALL_IN_MINUTES,
    HOURS_OF_A_MONTH,
    IdleTime,
    idle_time,
    usd_per_month,
)

DAYS = HOURS_OF_A_MONTH / 24
HOURS = {"days": ["mon", "tue"], "start": "08:00", "end": "18:00", "time_zone": "Europe/Berlin"}


def placement(model: str = "Qwen/Qwen3-4B", engine: str = "lmi-vllm", **hosting: Any) -> Placement:
    hosting = {"instance_type": "ml.g6.2xlarge"} | hosting
    settings = {"model": {"id": model}, "serving": {"engine": engine}, "hosting": hosting}
    return resolve(Deployment.model_validate(settings)).placements[0]


@pytest.mark.parametrize(
    ("idle", "busy", "hours"),
    [
        (IdleTime(None), 0, HOURS_OF_A_MONTH),
        (IdleTime(60, 1800), 0, 0),
        (IdleTime(60, 1800), 1, 2.5 * DAYS),
        (IdleTime(60, None), 1, 2 * DAYS),
        (IdleTime(60, 1800), 23, HOURS_OF_A_MONTH),
        (IdleTime(60, 0, kept_hours=10, kept_days=5), 0, 11 * DAYS * 5 / 7),
        (IdleTime(60, 0, kept_hours=10, kept_days=5), 8, (11 * 5 + 9 * 2) * DAYS / 7),
        (IdleTime(60, 0, kept_hours=10, kept_days=7), 12, 13 * DAYS),
    ],
)
def test_the_paid_hours_hold_the_calls_the_way_to_sleep_and_the_hours_awake(
    idle: IdleTime, busy: float, hours: float
) -> None:
    assert idle.paid_hours(busy) == pytest.approx(hours)


def test_each_way_to_be_idle_has_its_own_times() -> None:
    zero, wake = placement(idle="zero"), wake_in_seconds(placement()).likely
    assert idle_time(placement()) == IdleTime(None)
    assert idle_time(zero) == IdleTime(27, wake)
    assert idle_time(placement(idle=HOURS)) == IdleTime(27, wake, 10, 2)
    assert idle_time(placement(mode="async", instance_count={"min": 0, "max": 1})) == IdleTime(17, wake)
    assert idle_time(placement(mode="async")) == IdleTime(None)
    machine = placement("Qwen/Qwen3-0.6B", "transformers", mode="ec2", instance_type="c7i.xlarge", idle_minutes=5)
    assert idle_time(machine) == IdleTime(5, boot_in_seconds(machine))


@pytest.mark.parametrize(("start", "end", "hours"), [("22:00", "06:00", 8), ("00:00", "23:30", 23.5)])
def test_hours_may_end_on_the_next_day(start: str, end: str, hours: float) -> None:
    assert idle_time(placement(idle=HOURS | {"start": start, "end": end})).kept_hours == hours


def test_a_month_costs_the_paid_hours_and_a_machine_its_disk_and_address_too() -> None:
    assert usd_per_month(placement(), 0) == pytest.approx(HOURS_OF_A_MONTH * 1.222)
    assert usd_per_month(placement(idle="zero"), 0) == 0
    machine = placement(
        "Qwen/Qwen3-0.6B", "transformers", mode="ec2", instance_type="c7i.xlarge", volume_size_in_gb=100
    )
    assert usd_per_month(machine, 0) == pytest.approx(8)
    assert usd_per_month(machine, 24) == pytest.approx(8 + HOURS_OF_A_MONTH * (0.1785 + 0.005))


def test_a_month_without_a_known_price_is_not_known() -> None:
    assert usd_per_month(placement(instance_type="ml.g6.xlarge", idle="zero"), 1) is None


def test_the_setting_names_the_minutes_that_the_estimate_counts() -> None:
    assert f"after about {AWAKE_AFTER_A_CALL_IN_MINUTES} minutes" in (Hosting.model_fields["idle"].description or "")
