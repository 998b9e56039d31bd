"""Places of a dashboard: its expressions hold the price of an instance and the most instances."""

from collections.abc import Callable
from typing import Any

from ...catalog.instances import InstanceType, types_for
from ...dashboard.expressions import level, price, shown_price, spent
from ...resolution import Resolution
from ..editing.places import Place, Template, of_type, with_text

_PRICES, _USD = "UsdPerHour", "Usd"


def shown_count(own: int, parameter: str) -> Place:
    """Return the place of the most instances."""
    return _shown(level, str(own), {"Ref": parameter})


def shown_prices(resolution: Resolution, types: tuple[str, ...]) -> tuple[tuple[Place, ...], dict[str, Any]]:
    """Return the places of the price, and the mapping of prices by type. types: all have a known price, or none."""
    own = shown_price(resolution.placements[0].instance)
    if not resolution.deployment.operations.dashboard or own is None:
        return (), {}
    known = types_for(on_machines=resolution.deployment.hosting.runs_on_machines)
    prices = {name: {_USD: _text(known[name])} for name in types}
    found = {"Fn::FindInMap": [_PRICES, {"Ref": "InstanceType"}, _USD]}
    return (_shown(spent, price(own.usd), found),), {_PRICES: prices}


def _text(instance: InstanceType) -> str:
    found = shown_price(instance)
    return price(found.usd) if found else ""


def _shown(expression: Callable[[object], str], own: str, value: dict[str, Any]) -> Place:
    """Return the place of a value in the expressions of dashboards."""
    head, _, tail = expression("\0").partition("\0")

    def put(template: Template) -> None:
        for dashboard in of_type(template, "AWS::CloudWatch::Dashboard").values():
            properties = dashboard["Properties"]
            properties["DashboardBody"] = with_text(properties["DashboardBody"], expression(own), head, value, tail)

    return put
