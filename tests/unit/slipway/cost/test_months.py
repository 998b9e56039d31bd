"""The months of a bill."""

import sys
from datetime import UTC, datetime

import pytest

from slipway.__main__ import main
from slipway.cost.months import MonthUntilNow, first_of

NOVEMBER = datetime(2026, 11, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("moment", "months", "first"),
    [
        (datetime(2026, 11, 28, 23, 59, tzinfo=UTC), 0, NOVEMBER),
        (datetime(2026, 12, 31, tzinfo=UTC), 1, datetime(2027, 1, 1, tzinfo=UTC)),
        (datetime(2026, 1, 1, tzinfo=UTC), -1, datetime(2025, 12, 1, tzinfo=UTC)),
    ],
)
def test_the_first_moment_of_a_month(moment: datetime, months: int, first: datetime) -> None:
    assert first_of(moment, months) == first


def test_a_month_ends_at_its_end_or_now() -> None:
    over = MonthUntilNow(NOVEMBER, datetime(2027, 3, 1, tzinfo=UTC))
    open_ = MonthUntilNow(NOVEMBER, datetime(2026, 11, 16, tzinfo=UTC))
    assert (over.ended, over.days, open_.ended) == (datetime(2026, 12, 1, tzinfo=UTC), 30, open_.now)


@pytest.mark.parametrize(("day", "share"), [(1, 0.5), (10, 0.2), (16, 0), (20, 0)])
def test_what_was_made_in_the_month_exists_for_its_share(day: int, share: float) -> None:
    half = MonthUntilNow(NOVEMBER, datetime(2026, 11, 16, tzinfo=UTC))
    assert half.share_since(datetime(2026, 11, day, tzinfo=UTC)) == pytest.approx(share)


def test_what_was_made_before_the_month_exists_for_all_of_it() -> None:
    over = MonthUntilNow(NOVEMBER, datetime(2027, 3, 1, tzinfo=UTC))
    assert over.share_since(datetime(2026, 1, 1, tzinfo=UTC)) == 1


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("2026-13", "'2026-13' is not a month; write it as 2026-11"),
        ("soon", "not a month"),
        ("9999-01", "has not begun"),
        ("2024-01", "2024-01 began more than 455 days ago, and CloudWatch forgets"),
    ],
)
@pytest.mark.parametrize("verb", ["cost", "usage"])
def test_a_month_that_is_none_or_can_not_be_read_is_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], verb: str, text: str, said: str
) -> None:
    monkeypatch.setattr(sys, "argv", ["slipway", verb, "chat", "--month", text])
    with pytest.raises(SystemExit) as ended:
        main()
    assert (ended.value.code, said in capsys.readouterr().err) == (2, True)


@pytest.mark.parametrize("text", ["-1", "much", "nan", "1e99"])
def test_an_amount_that_is_none_is_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], text: str
) -> None:
    monkeypatch.setattr(sys, "argv", ["slipway", "cost", "chat", f"--usd={text}"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert (ended.value.code, "is not an amount in USD; write it as 812.40" in capsys.readouterr().err) == (2, True)
