"""A table that is wider than it may be."""

import pytest

from slipway.shared.table import print_table

ROW = ("a" * 50, "UPDATE_ROLLBACK_COMPLETE", "google/flan-t5-xxl on lmi-fastertransformer", "realtime", "7.09")


def test_a_table_too_wide_is_folded_and_loses_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(("NAME", "STATUS", "SERVES", "MODE", "USD/H NOW"), [ROW], right=("USD/H NOW",), width=100)
    printed = capsys.readouterr().out
    assert max(map(len, printed.splitlines())) <= 100
    assert sorted("".join(printed.split()[6:])) == sorted("".join(ROW).replace(" ", ""))
