"""VPC endpoints of AWS's services: which are gateways, and what the others cost."""

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path

_HOURS_OF_A_MONTH = 730


@dataclass(frozen=True)
class ServiceEndpoints:
    """Prices of interface endpoints, in us-east-1. gateways: services with free endpoints, which are routes."""

    source: str
    as_of: str
    gateways: list[str]
    usd_per_zone_and_hour: float
    usd_per_gb: float

    def usd_per_month(self, interfaces: int, zones: int) -> float:
        """Return the price of so many interface endpoints in so many zones, without their traffic."""
        return interfaces * zones * self.usd_per_zone_and_hour * _HOURS_OF_A_MONTH


@cache
def service_endpoints() -> ServiceEndpoints:
    """Return the facts."""
    return ServiceEndpoints(**json.loads(Path(__file__).with_name("service_endpoints.json").read_text()))
