"""Prints a comparison of two reports."""

import sys
from pathlib import Path

from slipway.measuring.figures.results import ResultsError, read
from slipway.measuring.figures.slo import SloError
from slipway.measuring.report.comparison import ComparisonError, compare
from slipway.measuring.report.tables import STAND_IN
from slipway.shared.table import print_table


def run(a: Path, b: Path) -> int:
    """Print the comparison.

    a, b: the folder of a report, or its results.json; a is the run before. Returns the exit status: 1 if a figure
    became worse beyond noise, 2 after a problem, which was printed.
    """
    try:
        found = compare(read(a), read(b))
    except (ResultsError, ComparisonError, SloError) as error:
        print(error, file=sys.stderr)
        return 2
    print(f"A {a}\nB {b}")
    if found.stand_in:
        print(STAND_IN)
    for warning in found.warnings:
        print(f"warning: {warning}")
    if found.settings:
        print()
        print_table(("CHANGED", "A", "B"), found.settings)
    print()
    mark = " (STAND-IN)" if found.stand_in else ""
    heading = (f"LOAD{mark}", "FIGURE", "A", "B", "B / A (INTERVAL)", "VERDICT")
    rows = [(row.load, row.figure, row.a, row.b, row.change, row.verdict) for row in found.rows]
    print_table(heading, rows, right=("A", "B"))
    return 1 if found.is_worse else 0
