"""Two measurements side by side: interleaved rounds, the median of their ratios, and one of them against itself."""

import os
import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent


@dataclass(frozen=True)
class Row:
    """One line of the table; `same` is how far the reference strayed from itself."""

    figure: str
    target: str
    measured: str
    same: str = ""
    verdict: str = ""


@dataclass(frozen=True)
class Round:
    """The reference, then the other, then the reference again: what drifts evenly cancels out."""

    reference: float
    other: float
    again: float


def alternate(reference: Callable[[], float], other: Callable[[], float], rounds: int, turns: int = 1) -> list[Round]:
    """Measure in turn, a round being the sum of some turns; one more round warms caches and counts for nothing."""
    taken = [
        Round(*map(sum, zip(*((reference(), other(), reference()) for _ in range(turns)), strict=True)))
        for _ in range(rounds + 1)
    ]
    return taken[1:]


def ratio(rounds: Sequence[Round]) -> float:
    """The other against the reference."""
    return statistics.median(2 * each.other / (each.reference + each.again) for each in rounds)


def spread(rounds: Sequence[Round]) -> float:
    """How far from 1 the farther quartile of the reference against itself lies."""
    quartiles = statistics.quantiles([each.again / each.reference for each in rounds], method="inclusive")
    return max(abs(quartile - 1) for quartile in quartiles)


def judge(figure: str, rounds: Sequence[Round], limit: float, note: str = "") -> Row:
    """A row that counts only if the reference strays from itself by less than half of what the limit allows."""
    measured, strayed = ratio(rounds), spread(rounds)
    verdict = "not counted: noisy" if strayed >= (limit - 1) / 2 else "met" if measured <= limit else "MISSED"
    return Row(figure, f"<= {limit:.2f}", f"{measured:.2f}{note}", f"1 +- {strayed:.3f}", verdict)


def environment(**variables: str) -> Mapping[str, str]:
    """This process's environment as `make` sets it; bytecode is written, or every start would compile everything."""
    inherited = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    search = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return inherited | {"PATH": search} | variables


def cpu_seconds(command: Sequence[str], variables: Mapping[str, str]) -> float:
    """User and system time of a process and all its descendants. Raises SystemExit with its words when it fails."""
    with tempfile.TemporaryFile("w+") as words:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        code = subprocess.run(command, env=variables, stdout=words, stderr=words, cwd=ROOT).returncode
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        if code:
            words.seek(0)
            sys.exit(f"{' '.join(command)} failed:\n{words.read()}")
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
