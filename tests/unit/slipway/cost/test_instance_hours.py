"""The hours of instances, from the samples of metrics."""

from datetime import UTC, datetime, timedelta

import pytest

from llm_hosting.catalog.prices import Price
from slipway.cost.instance_hours import at_once, hours_of, in_words, questions_of, total_usd
from slipway.cost.metrics import COARSE, FINE, Series
from slipway.hosting.meter import Meter, Metric

CPU = Metric("/aws/sagemaker/Endpoints", "CPUUtilization", {"EndpointName": "chat"})
ENDPOINT = Meter(CPU, ("ml.g5.xlarge",), samples_per_hour=60)
MACHINE = Meter(Metric("AWS/EC2", "CPUUtilization", {"InstanceId": "i-1"}), ("c5.xlarge",))


def series(*samples: float, period: timedelta = COARSE) -> Series:
    """Return the samples of successive periods; 0 = a period without data."""
    begun = datetime(2026, 11, 1, tzinfo=UTC)
    return {begun + number * period: count for number, count in enumerate(samples) if count}


def test_every_instance_of_an_endpoint_counts_not_only_whether_one_ran() -> None:
    # An hour of one instance, an hour of three, none, and a quarter of an hour of one.
    (found,) = hours_of([ENDPOINT], [series(60, 180, 0, 15)], COARSE, "us-east-1")
    assert (found.instance_type, found.hours) == ("ml.g5.xlarge", 4.25)
    assert found.usd == pytest.approx(4.25 * 1.4084)


def test_a_machine_ran_in_each_period_with_data_whatever_its_samples() -> None:
    (found,) = hours_of([MACHINE], [series(1, 1, 0, 5, 5, period=FINE)], FINE, "us-east-1")
    assert (found.instance_type, found.price) == ("c5.xlarge", Price(0.17, "2026-07-20"))
    assert found.hours == pytest.approx(4 * 5 / 60)


def test_hours_of_several_types_are_shared_by_their_samples() -> None:
    pools = {
        name: Metric("AWS/SageMaker", "Concurrent", {"InstanceType": name})
        for name in ("ml.g6.2xlarge", "ml.g5.2xlarge")
    }
    meter = Meter(CPU, tuple(pools), samples_per_hour=60, by_type=pools)
    assert len(questions_of([meter], COARSE)) == 3
    found = hours_of([meter], [series(120, 120), series(360, 360), series(1080)], COARSE, "us-east-1")
    assert {each.instance_type: each.hours for each in found} == pytest.approx(
        {"ml.g6.2xlarge": 1.6, "ml.g5.2xlarge": 2.4}
    )


def test_hours_without_a_known_type_have_no_price() -> None:
    pools = {
        name: Metric("AWS/SageMaker", "Concurrent", {"InstanceType": name})
        for name in ("ml.g6.2xlarge", "ml.g5.2xlarge")
    }
    meter = Meter(CPU, tuple(pools), samples_per_hour=60, by_type=pools)
    (found,) = hours_of([meter], [series(60), {}, {}], COARSE, "us-east-1")
    assert (found.instance_type, found.hours, found.usd) == ("ml.g6.2xlarge or ml.g5.2xlarge", 1, None)


def test_another_region_has_no_price_of_us_east_1() -> None:
    found = hours_of([ENDPOINT], [series(60)], COARSE, "eu-west-1")
    assert total_usd(found) is None
    assert in_words(found, "eu-west-1") == "1.0 h of ml.g5.xlarge, whose price in eu-west-1 is not known"


def test_no_hours_cost_nothing_at_any_price() -> None:
    found = hours_of([ENDPOINT], [{}], COARSE, "eu-west-1")
    assert (total_usd(found), in_words(found, "eu-west-1")) == (0, "no instance has run")


@pytest.mark.parametrize(
    ("meters", "answers", "count"),
    [
        ([ENDPOINT], [series(60, 180)], 2),
        ([ENDPOINT], [series(15)], 1),  # less than an instance for the whole hour is still one
        ([ENDPOINT], [{}], 1),
        ([MACHINE, MACHINE], [series(1, 1), series(0, 1)], 1.5),
    ],
)
def test_how_many_ran_at_once_while_any_did(meters: list[Meter], answers: list[Series], count: float) -> None:
    assert at_once(meters, answers, COARSE) == count
