"""Measures a fresh clone of the last commit: time to the first answer, time of a second start, memory at rest."""

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil

from local_cloud.cloud import free_port
from tools.benchmarks.shared.pairs import QUICK, ROOT, Figure, environment

SECOND_START_LIMIT_IN_SECONDS = 5
REST_IN_SECONDS = 3


def figures(_rounds: int) -> Iterator[Figure]:
    """Wall times of one run. Raises SystemExit if `make local` ends without an answer."""
    with tempfile.TemporaryDirectory() as folder:
        clone = ROOT if QUICK else Path(folder) / "slipway"
        started = time.monotonic()
        if not QUICK:
            subprocess.run(["git", "clone", "-q", str(ROOT), str(clone)], check=True)
        with _answered(clone):
            yield Figure("clone to first answer, warm package caches", "shown", f"{time.monotonic() - started:.1f} s")
        started = time.monotonic()
        with _answered(clone) as make:
            seconds = time.monotonic() - started
            verdict = "met" if seconds < SECOND_START_LIMIT_IN_SECONDS else "MISSED"
            yield Figure("second start", f"< {SECOND_START_LIMIT_IN_SECONDS} s", f"{seconds:.1f} s", "", verdict)
            time.sleep(0 if QUICK else REST_IN_SECONDS)
            yield Figure("local cloud at rest, resident memory", "shown", f"{_emulator_memory_in_mb(make.pid):.0f} MB")


@contextmanager
def _answered(clone: Path) -> Iterator["subprocess.Popen[str]"]:
    """Start `make local` (in a quick run: the command behind it), wait for its first answer, end it as Ctrl-C does."""
    command = ["make", "local", f"PORT={free_port()}", f"PYTHON={Path(sys.executable).resolve()}"]
    if QUICK:
        command = [sys.executable, "-m", "slipway", "local", "qwen3-4b", "--port", str(free_port())]
    make = subprocess.Popen(
        command, cwd=clone, env=environment(), stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    assert make.stdout
    try:
        if not any(line.startswith("  answer") for line in make.stdout):
            sys.exit("`make local` ended in the fresh clone without an answer; see above.")
        yield make
    finally:
        if make.poll() is None:
            os.killpg(make.pid, signal.SIGINT)
        make.stdout.read()
        make.wait()


def _emulator_memory_in_mb(ancestor: int) -> float:
    """Resident memory of the emulator, its functions and model servers; shared pages count for each process."""
    family = psutil.Process(ancestor).children(recursive=True)
    emulator = next(each for each in family if "local_cloud.emulator" in each.cmdline())
    counted = [emulator, *emulator.children(recursive=True)]
    return sum(float(each.memory_info().rss) for each in counted) / 2**20
