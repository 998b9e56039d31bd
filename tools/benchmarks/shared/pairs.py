"""Compares two measurements by interleaved rounds: the median of the ratios, and the spread of the reference."""

import os
import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[3]
# A quick run does little work: it shows that the benchmarks run, and its figures mean nothing.
QUICK = os.environ.get("SLIPWAY_BENCH") == "quick"


def work(number: int) -> int:
    """The given number of calls, jobs or bytes; in a quick run a hundredth of it."""
    return max(2, number // 100) if QUICK else number


@dataclass(frozen=True)
class Figure:
    """A line of the table. same: how far two measurements of the reference lie apart."""

    name: str
    target: str
    measured: str
    same: str = ""
    verdict: str = ""


@dataclass(frozen=True)
class Round:
    """Reference, other, reference again: a steady drift of the machine cancels out."""

    reference: float
    other: float
    again: float


def alternate(reference: Callable[[], float], other: Callable[[], float], rounds: int, turns: int = 1) -> list[Round]:
    """Measure in interleaved rounds, each the sum of its turns. A first round warms the caches and is dropped."""
    if QUICK:
        taken_once = reference()
        return [Round(taken_once, other(), taken_once)] * 2
    taken = [
        Round(*map(sum, zip(*((reference(), other(), reference()) for _ in range(turns)), strict=True)))
        for _ in range(rounds + 1)
    ]
    return taken[1:]


def ratio(rounds: Sequence[Round]) -> float:
    """The median of: other / mean of the two references."""
    return statistics.median(2 * each.other / (each.reference + each.again) for each in rounds)


def spread(rounds: Sequence[Round]) -> float:
    """How far the farther quartile of reference / reference lies from 1."""
    quartiles = statistics.quantiles([each.again / each.reference for each in rounds], method="inclusive")
    return max(abs(quartile - 1) for quartile in quartiles)


def judge(name: str, rounds: Sequence[Round], limit: float, note: str = "") -> Figure:
    """A figure with a verdict, which counts only if the spread is less than half the limit's margin."""
    measured, strayed = ratio(rounds), spread(rounds)
    verdict = "not counted: noisy" if strayed >= (limit - 1) / 2 else "met" if measured <= limit else "MISSED"
    return Figure(name, f"<= {limit:.2f}", f"{measured:.2f}{note}", f"1 +- {strayed:.3f}", verdict)


def environment(**variables: str) -> Mapping[str, str]:
    """This process's environment as `make` sets it: bytecode is cached, or every start compiles all modules."""
    inherited = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    search = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return inherited | {"PATH": search} | variables


def cpu_seconds(command: Sequence[str], variables: Mapping[str, str]) -> float:
    """User and system time of a process and its descendants. Raises SystemExit with its output if it fails."""
    with tempfile.TemporaryFile("w+") as output:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        code = subprocess.run(command, env=variables, stdout=output, stderr=output, cwd=ROOT).returncode
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        if code:
            output.seek(0)
            sys.exit(f"{' '.join(command)} failed:\n{output.read()}")
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
