"""`python -m slipway check`: its time beside an empty Python, and its memory estimates beside published facts."""

import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

from benchmarks.pairs import ROOT, Row, alternate, cpu_seconds, environment, spread

sys.path.append(str(ROOT / "constructs"))  # a source root, like `src/`

from llm_hosting.deployment import Deployment
from llm_hosting.preflight.validation import validate
from llm_hosting.resolution import Resolution, resolve
from llm_hosting.resolution.memory import GB

LIMIT_IN_SECONDS = 0.5
NEAR = 0.05
GIB = 2**30
MEMORY_RULES = {
    "weights-fit-memory",
    "weights-barely-fit",
    "context-fits-memory",
    "tokens-fit-memory",
}
MOST_CHARACTERS = 52  # of the first column
TELLING = 0.5  # of the memory: an estimate far below it says little


def figures(rounds: int) -> Iterator[Row]:
    """Raises SystemExit when the command fails."""
    yield from _wall_time(rounds)
    yield from _sizes()
    yield from _fits()


def _wall_time(rounds: int) -> Iterator[Row]:
    command = ("-m", "slipway", "check", "qwen3-4b")
    taken = alternate(_seconds(*command), _seconds("-c", "pass"), rounds)
    seconds = statistics.median(value for each in taken for value in (each.reference, each.again))
    computed = min(cpu_seconds([sys.executable, *command], environment()) for _ in range(rounds))
    # Where the processor is shared, the command waits for its turn.
    late = "not counted: busy" if computed <= LIMIT_IN_SECONDS else "MISSED"
    verdict = "met" if seconds <= LIMIT_IN_SECONDS else late
    measured = f"{seconds:.2f} s, {computed:.2f} s CPU"
    yield Row("check qwen3-4b, wall time", f"<= {LIMIT_IN_SECONDS} s", measured, f"1 +- {spread(taken):.3f}", verdict)
    yield Row("python -c pass, wall time", "", f"{statistics.median(each.other for each in taken):.3f} s")


def _seconds(*arguments: str) -> Callable[[], float]:
    def run() -> float:
        started = time.perf_counter()
        result = subprocess.run([sys.executable, *arguments], cwd=ROOT, env=environment(), capture_output=True)
        taken = time.perf_counter() - started
        if result.returncode:
            sys.exit(f"python {' '.join(arguments)} failed:\n{result.stderr.decode()}")
        return taken

    return run


def _sizes() -> Iterator[Row]:
    """What engines logged of one accelerator."""
    for anchor in json.loads((ROOT / "benchmarks" / "memory_anchors.json").read_text())["anchors"]:
        deployment = Deployment.model_validate(
            {
                "model": {"id": anchor["model"]},
                "serving": {"tensor_parallel_degree": anchor["degree"]},
                "hosting": {"instance_type": anchor["instance_type"]},
            }
        )
        need = resolve(deployment).placements[0].memory
        name = f"{_short(anchor['model'])}, degree {anchor['degree']}"
        if "weights_in_gib" in anchor:
            known, predicted, unit, what = (
                anchor["weights_in_gib"] * GIB / GB,
                (need.weights or 0) / GB,
                "GB",
                "weights",
            )
        else:
            known, predicted, unit, what = (
                anchor["cache_in_kb_per_token"],
                (need.per_token or 0) / 1000,
                "kB",
                "a token",
            )
        verdict = "met" if abs(predicted / known - 1) <= NEAR else "MISSED"
        yield Row(f"{what} of {name}"[:MOST_CHARACTERS], f"{known:.1f} {unit}", f"{predicted:.1f} {unit}", "", verdict)


def _fits() -> Iterator[Row]:
    """Configurations that others published, and whether they fitted; who failed for another reason says nothing."""
    for line in (ROOT / "tests" / "published_cases.jsonl").read_text().splitlines():
        case = json.loads(line)
        fitted = case["outcome"] == "works"
        if fitted or case["reason"] in MEMORY_RULES:
            yield from _fit(case, fitted)


def _fit(case: dict[str, Any], fitted: bool) -> Iterator[Row]:
    resolution = resolve(Deployment.model_validate(case["deployment"]))
    said, model = _verdict(resolution), _short(resolution.container.model_id)
    for placement in resolution.placements:
        need = placement.memory
        if need.weights is None or not need.available:
            continue
        if need.share_needed < TELLING and fitted and said == "fits":
            continue
        figure = f"{model} on {placement.instance.type.removeprefix('ml.')}, degree {placement.degree}"
        known = "fits" if fitted else "too big"
        verdict = "met" if said in (known, "doubtful") else "MISSED"
        yield Row(figure[:MOST_CHARACTERS], known, f"{need.share_needed:.0%}: {said}", "", verdict)


def _verdict(resolution: Resolution) -> str:
    levels = {finding.level for finding in validate(resolution) if finding.rule in MEMORY_RULES}
    return "too big" if "error" in levels else "doubtful" if "warning" in levels else "fits"


def _short(model_id: str) -> str:
    return model_id.rpartition("/")[2]
