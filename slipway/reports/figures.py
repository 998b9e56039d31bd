"""Cost and use of one service in a month, and their sums."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from datetime import datetime
from typing import Any

HEADER = ("USD/H NOW", "USD {month:%Y-%m}", "REQUESTS", "TOKENS")
_SUMMED = ("usd_per_hour", "usd", "requests", "tokens_in", "tokens_out")


@dataclass(frozen=True)
class Figures:
    """usd_per_hour: of what runs now. usd, requests and tokens: of the month until now. None = not known.

    partly: the figures that are sums without those that are not known.
    """

    usd_per_hour: float | None = None
    usd: float | None = None
    requests: int | None = None
    tokens_in: int | None = None
    tokens_out: int | None = None
    partly: tuple[str, ...] = ()

    @classmethod
    def of(cls, content: Mapping[str, Any]) -> "Figures":
        """Read the members that `content` makes."""
        return cls(**{each.name: content[each.name] for each in fields(cls)})

    @property
    def content(self) -> dict[str, Any]:
        """The members in JSON."""
        return asdict(self)

    @property
    def cells(self) -> tuple[str, ...]:
        """The cells below HEADER; `-` = not known, `+` behind a sum = some of it is not known."""
        tokens = None if self.tokens_in is None or self.tokens_out is None else self.tokens_in + self.tokens_out
        return (
            self._cell("usd_per_hour", self.usd_per_hour, ".2f"),
            self._cell("usd", self.usd, ",.2f"),
            self._cell("requests", self.requests, ","),
            self._cell("tokens_in", tokens, ","),
        )

    def _cell(self, name: str, value: float | None, form: str) -> str:
        return "-" if value is None else f"{value:{form}}{'+' if name in self.partly else ''}"


def header(month: datetime) -> tuple[str, ...]:
    """The headers of `Figures.cells`."""
    return tuple(each.format(month=month) for each in HEADER)


def total(all_of_them: Iterable[Figures | None]) -> Figures:
    """Return the sums; None = the figures of a service were not asked."""
    each = [figures or Figures() for figures in all_of_them]
    sums, partly = {}, []
    for name in _SUMMED:
        values = [getattr(figures, name) for figures in each]
        known = [value for value in values if value is not None]
        sums[name] = round(sum(known), 3) if known or not each else None
        if len(known) < len(each) or any(name in figures.partly for figures in each):
            partly.append(name)
    return Figures(**sums, partly=tuple(partly))
