"""What the ways to be idle would have cost for the requests of a month."""

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

from llm_hosting.catalog.instances import ec2_instances, instances
from llm_hosting.catalog.prices import hourly_price
from llm_hosting.catalog.regions import regions_without_components
from llm_hosting.resolution import Placement
from llm_hosting.resolution.idle import ways_to_idle
from slipway.cost.cost_of_month import MonthCost
from slipway.cost.idle_modes import awake
from slipway.stack.deployed_stack import DeployedStack


class Alternative(NamedTuple):
    """A way to be idle.

    hours, wakes: of the instances that the month's requests would have needed. usd: None = the price is not known.
    problem: why this service can't be idle so; "" = nothing is known against it.
    """

    way: str
    hours: float = 0
    wakes: int = 0
    usd: float | None = None
    problem: str = ""


def alternatives(
    stack: DeployedStack, cost: MonthCost, placement: Placement | None, wake_in_seconds: float | None
) -> Iterator[Alternative]:
    """Yield what each way would have cost by the hour; nothing for a stack without instances of its own.

    As many instances run at once as ran on average while any did. placement: None = the project has no file of the
    stack. wake_in_seconds: from a call to its answer; None = not known.
    """
    if not cost.instance_type:
        return
    on_endpoint = cost.instance_type if cost.instance_type.startswith("ml.") else f"ml.{cost.instance_type}"
    on_machine = on_endpoint.removeprefix("ml.")
    for way, idle in ways_to_idle(placement).items():
        instance_type = on_machine if way == "ec2" else on_endpoint
        if problem := _problem(way, instance_type, stack.region):
            yield Alternative(way, problem=problem)
            continue
        if way != "ec2":
            idle = replace(idle, wake_in_seconds=wake_in_seconds)
        needed = awake(cost.calls, cost.period_in_minutes, idle)
        hours, price = needed.hours * cost.instances_at_once, hourly_price(instance_type, stack.region)
        yield Alternative(way, hours, needed.wakes, hours * price.usd if price else None)


def _problem(way: str, instance_type: str, region: str) -> str:
    if way != "ec2" and instance_type not in instances():
        return f"endpoints have no {instance_type}"
    if way == "zero" and region in regions_without_components():
        return f"{region} has no inference components"
    if way == "ec2":
        known = ec2_instances().get(instance_type)
        return "" if known and known.kind == "cpu" else "machines have no GPU"
    return ""
