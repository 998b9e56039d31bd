"""Measures `slipway check`: its time, and its memory estimates against figures that engines logged."""

import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from llm_hosting.deployment.model import Deployment
from llm_hosting.resolution import resolve
from llm_hosting.resolution.memory import GB
from tools.benchmarks.shared.pairs import ROOT, Figure, alternate, cpu_seconds, environment, spread

LIMIT_IN_SECONDS = 0.3
NEAR = 0.05
GIB = 2**30
MOST_CHARACTERS = 52  # of the first column


def figures(rounds: int) -> Iterator[Figure]:
    """Time and estimates of `check`. Raises SystemExit when the command fails."""
    yield from _wall_time(rounds)
    yield from _sizes()


def _wall_time(rounds: int) -> Iterator[Figure]:
    command = ("-m", "slipway", "check", "qwen3-4b")
    taken = alternate(_seconds(*command), _seconds("-c", "pass"), rounds)
    seconds = statistics.median(value for each in taken for value in (each.reference, each.again))
    computed = min(cpu_seconds([sys.executable, *command], environment()) for _ in range(rounds))
    # On a busy machine wall time includes waiting for a CPU.
    late = "not counted: busy" if computed <= LIMIT_IN_SECONDS else "MISSED"
    verdict = "met" if seconds <= LIMIT_IN_SECONDS else late
    measured = f"{seconds:.2f} s, {computed:.2f} s CPU"
    yield Figure(
        "check qwen3-4b, wall time", f"<= {LIMIT_IN_SECONDS} s", measured, f"1 +- {spread(taken):.3f}", verdict
    )
    yield Figure("python -c pass, wall time", "", f"{statistics.median(each.other for each in taken):.3f} s")


def _seconds(*arguments: str) -> Callable[[], float]:
    def run() -> float:
        started = time.perf_counter()
        result = subprocess.run([sys.executable, *arguments], cwd=ROOT, env=environment(), capture_output=True)
        taken = time.perf_counter() - started
        if result.returncode:
            sys.exit(f"python {' '.join(arguments)} failed:\n{result.stderr.decode()}")
        return taken

    return run


def _sizes() -> Iterator[Figure]:
    """Compare estimates with figures that engines logged for one accelerator."""
    for anchor in json.loads(Path(__file__).with_name("memory_anchors.json").read_text())["anchors"]:
        deployment = Deployment.model_validate(
            {
                "model": {"id": anchor["model"]},
                "serving": {"tensor_parallel_degree": anchor["degree"]},
                "hosting": {"instance_type": anchor["instance_type"]},
            }
        )
        need = resolve(deployment).placements[0].memory
        name = f"{anchor['model'].rpartition('/')[2]}, degree {anchor['degree']}"
        if "weights_in_gib" in anchor:
            what, unit = "weights", "GB"
            known, predicted = anchor["weights_in_gib"] * GIB / GB, (need.weights or 0) / GB
        else:
            what, unit = "KV cache of a token", "kB"
            known, predicted = anchor["cache_in_kb_per_token"], (need.per_token or 0) / 1000
        verdict = "met" if abs(predicted / known - 1) <= NEAR else "MISSED"
        yield Figure(
            f"{what} of {name}"[:MOST_CHARACTERS], f"{known:.1f} {unit}", f"{predicted:.1f} {unit}", "", verdict
        )
