"""CPU time of synth: a deployment / an empty stack, with / without cdk-nag, ten deployments / one."""

import json
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from statistics import median

from tools.benchmarks.shared.pairs import (
    QUICK,
    ROOT,
    Figure,
    alternate,
    cpu_seconds,
    environment,
    judge,
    ratio,
    spread,
    work,
)

# Without CloudFormation's validation, as app.py does it.
_APP = "import gc; gc.disable(); import aws_cdk as cdk; app = cdk.App(builtin_cloud_formation_validation=False); "
EMPTY = _APP + "cdk.Stack(app, 'Empty'); app.synth()"
WITHOUT_NAG = _APP + (
    "from pathlib import Path; from slipway_stacks.from_context import add_stacks; "
    "add_stacks(app, Path.cwd()); app.synth()"
)
DEPLOYMENT = ROOT / "deployments" / "qwen3-4b.yaml"
MANY = work(10)
NAG_LIMIT, EACH_FURTHER_ONE = 1.25, 0.12


def figures(rounds: int) -> Iterator[Figure]:
    """Raises SystemExit if an app fails."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        copies = [folder / f"copy-{number}.yaml" for number in range(MANY)]
        for copy in copies:
            copy.write_text(DEPLOYMENT.read_text())
        empty, without_nag = (_synth(folder, copies[:1], "-c", program) for program in (EMPTY, WITHOUT_NAG))
        one, many = (_synth(folder, deployments, "app.py") for deployments in (copies[:1], copies))
        taken = alternate(empty, one, rounds)
        seconds = [median(values) for values in zip(*((each.reference, each.other) for each in taken), strict=True)]
        measured = "{:.2f} ({:.2f} -> {:.2f} s of CPU)".format(ratio(taken), *seconds)
        yield Figure(f"synth of {DEPLOYMENT.stem} / of an empty stack", "shown", measured, f"1 +- {spread(taken):.3f}")
        yield judge("synth with cdk-nag / without", alternate(without_nag, one, rounds), NAG_LIMIT)
        taken = alternate(one, many, rounds)
        row = judge("", taken, 1 + (MANY - 1) * EACH_FURTHER_ONE)
        each_further = (ratio(taken) - 1) / (MANY - 1)
        yield Figure(
            "each further deployment / first",
            f"<= {EACH_FURTHER_ONE:.2f}",
            f"{each_further:.3f}",
            row.same,
            row.verdict,
        )


def _synth(folder: Path, deployments: list[Path], *program: str) -> Callable[[], float]:
    settings = json.loads((ROOT / "cdk.json").read_text())["context"]
    context = settings | {"deployment": ",".join(map(str, deployments))}
    variables = environment(CDK_CONTEXT_JSON=json.dumps(context), CDK_OUTDIR=str(folder / "out"))

    def synth() -> float:
        return cpu_seconds([sys.executable, *program], variables)

    return cache(synth) if QUICK else synth
