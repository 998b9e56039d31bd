"""A line of a month's cost: an amount, its price, and their product."""

from typing import NamedTuple


class Line(NamedTuple):
    """One thing that bills.

    amount: of `unit`; None = not known. price: USD for one `unit` in the stack's region; None = not known. as_of: the
    date of the price.
    """

    name: str
    amount: float | None
    unit: str
    price: float | None
    as_of: str

    @property
    def usd(self) -> float | None:
        return None if self.amount is None or self.price is None else self.amount * self.price
