"""Measures the generation worker against a script that loads the model each time, and samples in one pass or many."""

import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from support.generation_servers import GenerationServer, generation_server
from tools.benchmarks.shared.pairs import ROOT, Figure, Round, alternate, environment, ratio, spread

PYTHON = ROOT / ".venv-models" / "bin" / "python"
SCRIPT = Path(__file__).with_name("generation_scripts.py")
ONE_THREAD = {"OMP_NUM_THREADS": "1"}  # several threads wait for each other on shared cores
PROMPT, LENGTH, SAMPLES = "The value of a class is", 32, 8


def figures(rounds: int) -> Iterator[Figure]:
    """Wall times with a model of GPT-2's size. Without .venv-models, one row says how to get it."""
    if not PYTHON.exists():
        yield Figure("generation worker", "shown", "not measured: run `make test-models` once, which installs torch")
        return
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        subprocess.run([PYTHON, SCRIPT, "make", home / "model"], check=True, capture_output=True)
        with generation_server(home, PYTHON, **ONE_THREAD) as server:
            yield _row(
                "answer of the worker / script that loads the model",
                alternate(_script(home), _asked(server, 1), rounds),
            )
            taken = alternate(_passes(server), _asked(server, SAMPLES), rounds)
            yield _row(f"{SAMPLES} samples in one pass / in {SAMPLES} passes", taken)
            tokens = SAMPLES * LENGTH
            fast, slow = (
                sorted(each)[len(each) // 2] for each in ([r.other for r in taken], [r.reference for r in taken])
            )
            yield Figure("tokens per second, one pass and many", "shown", f"{tokens / fast:.0f}, {tokens / slow:.0f}")


def _row(figure: str, taken: list[Round]) -> Figure:
    seconds = sorted(each.other for each in taken)[len(taken) // 2]
    instead = sorted(each.reference for each in taken)[len(taken) // 2]
    return Figure(
        figure, "shown", f"{ratio(taken):.2f} ({instead:.2f} -> {seconds:.2f} s)", f"1 +- {spread(taken):.3f}"
    )


def _script(home: Path) -> Callable[[], float]:
    command = [str(PYTHON), str(SCRIPT), "answer", str(home / "model"), PROMPT, str(LENGTH)]
    variables = environment(**ONE_THREAD)
    return lambda: _seconds(lambda: subprocess.run(command, env=variables, check=True, capture_output=True))


def _asked(server: GenerationServer, samples: int) -> Callable[[], float]:
    document = {"prompt": PROMPT, "length": LENGTH, "num_samples": samples}
    return lambda: _seconds(lambda: _answered(server, document))


def _passes(server: GenerationServer) -> Callable[[], float]:
    once = _asked(server, 1)
    return lambda: sum(once() for _ in range(SAMPLES))


def _answered(server: GenerationServer, document: dict[str, object]) -> None:
    answer = server.generate(document)
    assert answer.status == 200, answer.document


def _seconds(work: Callable[[], object]) -> float:
    started = time.monotonic()
    work()
    return time.monotonic() - started
