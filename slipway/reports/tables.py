"""The table of cost and use by account and region."""

from collections.abc import Sequence
from datetime import datetime

from slipway.reports.figures import Figures, header, total
from slipway.reports.places import Place
from slipway.shared.table import print_table

_PLACE = ("ACCOUNT", "REGION", "SERVICES")


def print_places(rows: Sequence[tuple[Place, Figures | None]], month: datetime) -> None:
    """Print the sums of each account and region, and of all.

    rows: a place and the figures of each service; None = the service, or all of the place, was not asked.
    """
    columns = (*_PLACE[-1:], *header(month))
    table = [
        (*place, *_sums([each for at, each in rows if at == place])) for place in sorted({place for place, _ in rows})
    ]
    sums = ("total", "", *_sums([each for _, each in rows]))
    print_table((*_PLACE[:-1], *columns), [*table, sums], right=columns)


def _sums(each: Sequence[Figures | None]) -> tuple[str, ...]:
    """Return the number of services that were asked, and their sums."""
    asked = sum(figures is not None for figures in each)
    return (f"{asked}{'+' if asked < len(each) else ''}" if asked else "-", *total(each).cells)
