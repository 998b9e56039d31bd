"""The table of cost and use by account and region."""

from datetime import UTC, datetime

import pytest

from slipway.reports.figures import Figures
from slipway.reports.places import Place
from slipway.reports.tables import print_places

HERE, THERE = Place("111122223333", "us-east-1"), Place("444455556666", "us-east-1")
SOME = Figures(1.0, 2.0, 3, 4, 5)


def test_an_account_that_was_not_asked_has_a_row_and_makes_the_total_partial(
    capsys: pytest.CaptureFixture[str],
) -> None:
    print_places([(HERE, SOME), (HERE, SOME), (THERE, None)], datetime(2026, 11, 1, tzinfo=UTC))
    _, here, there, total = (line.split() for line in capsys.readouterr().out.splitlines())
    assert here == [*HERE, "2", "2.00", "4.00", "6", "18"]
    assert there == [*THERE, "-", "-", "-", "-", "-"]
    assert total == ["total", "2+", "2.00+", "4.00+", "6+", "18+"]
