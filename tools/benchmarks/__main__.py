"""Measures all groups of figures, or the named ones, and prints a table."""

import argparse
import os
import platform
import sys

from tools.benchmarks.answers import functions, generation, streams, vectors
from tools.benchmarks.commands import check_command, first_answer, staging, synth
from tools.benchmarks.jobs import job_bill, local_jobs, waiting_clients
from tools.benchmarks.shared.pairs import QUICK, Figure

GROUPS = {
    "synth": synth.figures,
    "check": check_command.figures,
    "functions": functions.figures,
    "first-answer": first_answer.figures,
    "streams": streams.figures,
    "vectors": vectors.figures,
    "waiting": waiting_clients.figures,
    "jobs": local_jobs.figures,
    "bill": job_bill.figures,
    "staging": staging.figures,
    "generation": generation.figures,
}
WIDTHS = (52, 8, 24, 12, 0)


def main() -> None:
    """Print each figure; exit with status 1 if a target is missed, except in a quick run."""
    parser = argparse.ArgumentParser(prog="python -m tools.benchmarks", description=__doc__)
    parser.add_argument("groups", nargs="*", metavar="group", help=f"one of {', '.join(GROUPS)} (default: all)")
    parser.add_argument("--rounds", type=int, default=7, help="interleaved rounds of each pair (default 7)")
    arguments = parser.parse_args()
    if unknown := set(arguments.groups) - GROUPS.keys():
        parser.error(f"unknown group: {', '.join(sorted(unknown))}; the groups are {', '.join(GROUPS)}")
    if arguments.rounds < 2:
        parser.error("--rounds must be at least 2: one round has no spread")
    load = f"load {os.getloadavg()[0]:.1f}"
    print(f"{platform.machine()}, {os.cpu_count()} CPUs, Python {platform.python_version()}, {load}\n")
    _print(Figure("figure", "target", "measured", "same/same", "verdict"))
    missed = False
    for group in arguments.groups or GROUPS:
        for figure in GROUPS[group](arguments.rounds):
            _print(figure)
            missed |= figure.verdict == "MISSED"
    sys.exit(missed and not QUICK)


def _print(figure: Figure) -> None:
    cells = (figure.name, figure.target, figure.measured, figure.same, figure.verdict)
    print("  ".join(f"{cell:{width}}" for cell, width in zip(cells, WIDTHS, strict=True)).rstrip(), flush=True)


if __name__ == "__main__":
    main()
