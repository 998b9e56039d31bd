"""Prices of a region with their dates: of instance types by the hour, and of the services beside them."""

from dataclasses import asdict, dataclass
from typing import Any

from ..project import kept_for_project
from . import layers
from .instances import ec2_instances, ec2_prices_as_of, instances, machine_prices, prices_as_of
from .row_types import problems

FILE = "prices.json"
HOME_REGION = "us-east-1"  # the region of the prices in instances.json


@dataclass(frozen=True)
class Price:
    """A price in USD. as_of: the date of the price, such as 2026-07-20 or 2025-01."""

    usd: float
    as_of: str


@dataclass(frozen=True)
class ServicePrices:
    """Prices of services in one region, in USD, without free tiers and volume discounts; None = not known."""

    as_of: str
    api_usd_per_million_requests: float | None = None
    function_usd_per_million_calls: float | None = None
    function_usd_per_gb_second: float | None = None
    arm_function_usd_per_gb_second: float | None = None
    log_usd_per_gb: float | None = None
    object_usd_per_gb_and_month: float | None = None
    table_usd_per_gb_and_month: float | None = None
    volume_usd_per_gb_and_month: float | None = None
    address_usd_per_hour: float | None = None


def hourly_price(instance_type: str, region: str) -> Price | None:
    """Return the price of an instance type for an hour; EC2's own names are those of machines. None = not known.

    Prices of one region say nothing about another one.
    """
    known = instance_prices().get(region, {})
    if instance_type in known:
        return Price(known[instance_type], known["as_of"])
    if region != HOME_REGION:
        return None
    on_endpoints = instance_type in instances()
    found = (instances() if on_endpoints else ec2_instances()).get(instance_type)
    if found is None or found.usd_per_hour is None:
        return None
    return Price(found.usd_per_hour, prices_as_of() if on_endpoints else ec2_prices_as_of())


@kept_for_project
def service_prices(region: str) -> ServicePrices:
    """Return the prices of services in a region; those of volumes and addresses in us-east-1 are in instances.json."""
    rows = layers.read(FILE)["services"]
    layers.demand_types(FILE, rows, ServicePrices)
    home = asdict(machine_prices()) if region == HOME_REGION else {}
    return ServicePrices(**{"as_of": "", **home, **rows.get(region, {})})


@kept_for_project
def instance_prices() -> dict[str, dict[str, Any]]:
    """Return the prices of each region by instance type, and their date under `as_of`."""
    found: dict[str, dict[str, Any]] = layers.read(FILE)["instances"]
    for region, row in found.items():
        kinds = {name: str if name == "as_of" else float for name in ("as_of", *row)}
        for name, kind in kinds.items():
            for _, problem in problems(row.get(name), kind):
                raise layers.refuse(FILE, region, name, problem)
    return found
