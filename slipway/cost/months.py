"""Months of a bill, which begin at midnight UTC."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta


def first_of(moment: datetime, months: int = 0) -> datetime:
    """Return the first moment of a month in UTC. months: so many months after the one of `moment`."""
    number = moment.year * 12 + moment.month - 1 + months
    return datetime(number // 12, number % 12 + 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class MonthUntilNow:
    """The part of a month that is over. begun: the month's first moment in UTC."""

    begun: datetime
    now: datetime

    @property
    def ended(self) -> datetime:
        return min(self.now, first_of(self.begun, months=1))

    @property
    def days(self) -> int:
        """The days of the whole month."""
        return (first_of(self.begun, months=1) - self.begun).days

    def hours_since(self, moment: datetime) -> float:
        """Return the hours of the part that came after the moment."""
        return max(timedelta(0), self.ended - max(self.begun, moment)) / timedelta(hours=1)

    def share_since(self, moment: datetime) -> float:
        """Return the share of the whole month that the part after the moment is."""
        return self.hours_since(moment) / 24 / self.days
