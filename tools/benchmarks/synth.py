"""CPU time of synth: ours / a plain CDK app, with / without cdk-nag, ten deployments / one."""

import json
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

from tools.benchmarks.pairs import QUICK, ROOT, Row, alternate, cpu_seconds, environment, judge, ratio, work

PLAIN, WITHOUT_NAG, APP = ("tools/benchmarks/plain_app.py", "tools/benchmarks/app_without_nag.py", "app.py")
DEPLOYMENT = ROOT / "deployments" / "qwen3-4b.yaml"
PLAINER = "\njobs: {enabled: false}\napi: {openai: false}\n"  # the plain app has neither
MANY = work(10)
EACH_FURTHER_ONE = 0.12


def figures(rounds: int) -> Iterator[Row]:
    """Raises SystemExit if an app fails, or if the two compared apps make different resources."""
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        deployment, copies = work / DEPLOYMENT.name, [work / f"copy-{number}.yaml" for number in range(MANY)]
        for copy in (deployment, *copies):
            copy.write_text(DEPLOYMENT.read_text() + PLAINER)
        plain, ours, whole = (_synth(work, program, [deployment]) for program in (PLAIN, WITHOUT_NAG, APP))
        many = _synth(work, APP, copies)
        for synth in (plain, ours, whole):
            synth()
        _check_same(work)
        yield judge("synth / plain aws-cdk-lib app", alternate(plain, ours, rounds), 1.15)
        yield judge("synth with cdk-nag / without", alternate(ours, whole, rounds), 1.25)
        taken = alternate(whole, many, rounds)
        row = judge("", taken, 1 + (MANY - 1) * EACH_FURTHER_ONE)
        each = (ratio(taken) - 1) / (MANY - 1)
        yield Row("each further deployment / first", f"<= {EACH_FURTHER_ONE:.2f}", f"{each:.3f}", row.same, row.verdict)


def _synth(work: Path, program: str, deployments: list[Path]) -> Callable[[], float]:
    settings = json.loads((ROOT / "cdk.json").read_text())["context"]
    context = settings | {"deployment": ",".join(str(path) for path in deployments)}
    variables = environment(CDK_CONTEXT_JSON=json.dumps(context), CDK_OUTDIR=str(work / Path(program).stem))

    def synth() -> float:
        return cpu_seconds([sys.executable, program], variables)

    return cache(synth) if QUICK else synth


def _check_same(work: Path) -> None:
    made = (_resources(work / name) for name in ("app_without_nag/qwen3-4b", "plain_app/plain"))
    types, plain_types = (Counter(each["Type"] for each in resources.values()) for resources in made)
    if types != plain_types:
        sys.exit(f"{PLAIN} must make the same resources; missing {types - plain_types}, extra {plain_types - types}.")


def _resources(stack: Path) -> dict[str, Any]:
    made: dict[str, Any] = json.loads(stack.with_suffix(".template.json").read_text())["Resources"]
    return made
