"""Sums of cost and use, of which some are not known."""

from slipway.reports.figures import Figures, total


def test_sums_are_exact_if_all_is_known() -> None:
    found = total([Figures(1.5, 10.25, 3, 100, 20), Figures(0.25, 0.0, 4, 1, 2)])
    assert found == Figures(1.75, 10.25, 7, 101, 22)
    assert found.cells == ("1.75", "10.25", "7", "123")


def test_a_sum_says_that_something_is_missing_also_in_a_sum_of_sums() -> None:
    inner = total([Figures(1.0, None, 3, None, None), Figures(1.0, 2.0, 4, 5, 6)])
    assert inner.cells == ("2.00", "2.00+", "7", "11+")
    assert total([inner, Figures(1.0, 1.0, 1, 1, 1)]).cells == ("3.00", "3.00+", "8", "13+")


def test_a_service_that_was_not_asked_makes_every_sum_partial() -> None:
    assert total([Figures(1.0, 2.0, 3, 4, 5), None]).cells == ("1.00+", "2.00+", "3+", "9+")


def test_what_nobody_knows_has_no_sum() -> None:
    assert total([None, None]).cells == ("-", "-", "-", "-")
    assert total([]).cells == ("0.00", "0.00", "0", "0")


def test_json_holds_what_figures_are_made_of() -> None:
    found = total([Figures(1.0, None, 3, 4, 5)])
    assert Figures.of(found.content) == found
