"""docs/idle.md: one table compares the ways to be idle, with the catalog's prices."""

from slipway.reference.idle_table import idle_table
from support.repository import ROOT


def rows() -> list[dict[str, str]]:
    heading, _, *lines = idle_table(ROOT)
    names, *cells = ([cell.strip() for cell in line.strip("|").split("|")] for line in (heading, *lines))
    return [dict(zip(names, each, strict=True)) for each in cells]


def test_the_ways_are_compared_at_the_same_busy_hours() -> None:
    always, schedule, zero, asynchronous, machine = rows()
    assert [always[hours] for hours in ("0 h", "1 h", "8 h", "24 h")] == ["892"] * 4
    for each in (schedule, zero, asynchronous):
        prices = [int(each[hours]) for hours in ("0 h", "1 h", "8 h", "24 h")]
        assert prices == sorted(prices)
        assert prices[-1] == 892, "busy day and night costs the same in every way"
    assert (zero["0 h"], asynchronous["0 h"]) == ("0", "0")
    assert int(machine["24 h"]) < int(zero["24 h"])


def test_first_tokens_are_estimates_and_only_real_time_endpoints_stream() -> None:
    always, schedule, zero, asynchronous, machine = rows()
    assert always["First token asleep"] == "never sleeps"
    assert all(each["First token asleep"].startswith("~ ") for each in (schedule, zero, asynchronous, machine))
    assert [each["Streams"].startswith("yes") for each in (always, schedule, zero, asynchronous, machine)] == [
        True,
        True,
        True,
        False,
        False,
    ]
    assert machine["Awake"] == "not estimated"  # the memory bandwidth of its type is not in the catalog


def test_the_page_names_each_way_as_a_section() -> None:
    page = (ROOT / "docs" / "idle.md").read_text()
    sections = {line[3:].lower().replace(" ", "-") for line in page.splitlines() if line.startswith("## ")}
    assert {next(iter(each.values())).partition("](#")[2].partition(")")[0] for each in rows()} <= sections
