"""Expressions of metric math that hold a number. A rendered template finds the number of a parameter by them."""

from ..catalog.instances import InstanceType, ec2_prices_as_of
from ..catalog.prices import HOME_REGION, Price, hourly_price

RUNNING = "minutes * 60 / PERIOD(minutes)"
HOURS = "minutes / 60"


def spent(usd_per_hour: object) -> str:
    """Return the money for the hours of `minutes`."""
    return f"{HOURS} * {usd_per_hour}"


def level(value: object) -> str:
    """Return a level line."""
    return f"TIME_SERIES({value})"


def price(usd: float) -> str:
    """Return a price as the expressions hold it."""
    return f"{usd:.4g}"


def shown_price(instance: InstanceType, region: str = HOME_REGION) -> Price | None:
    """Return the price of an instance for an hour, in the home region an estimate if it must be; None = not known."""
    if found := hourly_price(instance.type, region):
        return found
    likely = instance.likely_usd_per_hour if region == HOME_REGION else None
    return Price(likely, ec2_prices_as_of()) if likely else None
