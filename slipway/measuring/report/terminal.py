"""Prints the end of a load test: the results in a few lines, and the path of the report."""

from pathlib import Path

from slipway.measuring.figures.level import levels
from slipway.measuring.figures.percentiles import SHOWN
from slipway.measuring.figures.results import Results
from slipway.measuring.figures.shown import milliseconds, number
from slipway.measuring.report.tables import (
    STAND_IN,
    all_tokens_rate,
    name_of,
    objective_sentence,
    place,
    remarks,
    start_rows,
)
from slipway.shared.table import print_table


def show(results: Results, page: Path) -> None:
    """Print the results. page: the path that `write` returned."""
    print(f"{results.deployment}: {name_of(results)}; {place(results)}")
    if results.stand_in:
        print(STAND_IN)
    for remark in remarks(results):
        print(remark)
    mark = " (STAND-IN)" if results.stand_in else ""
    percentiles = tuple(f"P{share} MS" for share in SHOWN)
    rows = [
        (
            level.name,
            f"{len(level.answered)} of {len(level.requests)}",
            milliseconds(level.percentile("ttft", 50)),
            *(milliseconds(level.percentile("total", share)) for share in SHOWN),
            number(level.token_rate or all_tokens_rate(level)),  # vectors have only tokens of prompts
        )
        for level in levels(results)
    ]
    heading = (f"LOAD{mark}", "ANSWERED", "TTFT P50 MS", *percentiles, "TOKENS/S")
    if results.start and results.start.kind == "zero":
        print_table((f"FROM ZERO{mark}", "SECONDS"), start_rows(results.start), right=("SECONDS",))
    if rows:
        print_table(heading, rows, right=heading[1:])
    if results.slo:
        print(objective_sentence(results))
    print(f"report {page}")
