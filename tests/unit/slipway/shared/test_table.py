"""Tables: folded where they are too wide, whole as lines of a page, and with the text of each cell as it is."""

import pytest

from slipway.shared.table import print_table, table_lines

ROW = ("a" * 50, "UPDATE_ROLLBACK_COMPLETE", "google/flan-t5-xxl on lmi-fastertransformer", "realtime", "7.09")


def test_a_table_too_wide_is_folded_and_loses_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(("NAME", "STATUS", "SERVES", "MODE", "USD/H NOW"), [ROW], right=("USD/H NOW",), width=100)
    printed = capsys.readouterr().out
    assert max(map(len, printed.splitlines())) <= 100
    assert sorted("".join(printed.split()[6:])) == sorted("".join(ROW).replace(" ", ""))


def test_lines_of_a_page_are_never_folded_and_end_with_their_text() -> None:
    assert table_lines(("NAME", "REASON"), [("a", "x " * 300 + "end"), ("long-name", "")]) == [
        "NAME       REASON",
        "a          " + "x " * 300 + "end",
        "long-name",
    ]
    assert table_lines((), [("1.", "a")]) == ["1.  a"]


def test_brackets_and_colons_in_a_cell_are_shown_as_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(("REASON",), [("[bold]arn:key:x[/bold]",)])
    assert capsys.readouterr().out.split() == ["REASON", "[bold]arn:key:x[/bold]"]
