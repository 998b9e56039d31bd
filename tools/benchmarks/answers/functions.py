"""Measures the function behind POST /generate: cold start, overhead of a call, size of the asset."""

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from statistics import median

from local_cloud.assembly import Stack, read_stacks, synthesize
from tools.benchmarks.shared.pairs import ROOT, Figure, Round, alternate, cpu_seconds, environment, judge, work

DEPLOYMENT = "qwen3-4b"
STARTS_PER_ROUND = work(6)  # one start is too short to measure
COLD_CLIENT = 'import boto3; boto3.client("sagemaker-runtime")'
COLD_HANDLER = "from inference_api.handlers import generate; generate.routes.streaming_endpoint()"
CPU_PER_TOKEN_IN_MS = 0.2
# Values that only a deploy knows.
DEPLOYED = {
    "PYTHONPATH": str(ROOT / "lambda_src"),
    "AWS_DEFAULT_REGION": "us-east-1",
    "AWS_ACCESS_KEY_ID": "unused",
    "AWS_SECRET_ACCESS_KEY": "unused",
}


def figures(rounds: int) -> Iterator[Figure]:
    """Figures of the function. Raises SystemExit when a program fails."""
    (stack,) = read_stacks(synthesize([DEPLOYMENT]))
    own = _variables(stack)
    taken = alternate(lambda: _cold(COLD_CLIENT, own), lambda: _cold(COLD_HANDLER, own), rounds, STARTS_PER_ROUND)
    yield judge("cold handler / import boto3 and a client", taken, 1.15)
    yield _per_token(rounds, own)
    yield from _warm(rounds, own)
    size = min(len(asset.read()) for asset in stack.assets) / 1024
    yield Figure("function asset, zipped", "shown", f"{size:.1f} kB")


def _variables(stack: Stack) -> dict[str, str]:
    """The function's environment as in the template, with "unused" for values that only a deploy knows."""
    functions = (each for each in stack.template["Resources"].values() if each["Type"] == "AWS::Lambda::Function")
    found = (
        each["Properties"]["Environment"]["Variables"] for each in functions if "Environment" in each["Properties"]
    )
    variables = next(each for each in found if "REQUEST_SCHEMA" in each)
    return DEPLOYED | {name: value if isinstance(value, str) else "unused" for name, value in variables.items()}


def _cold(program: str, own: dict[str, str]) -> float:
    return cpu_seconds([sys.executable, "-c", program], environment(**own))


def _per_token(rounds: int, own: dict[str, str]) -> Figure:
    with _endpoint(own) as variables:
        taken = median(
            float(_printed("tools.benchmarks.answers.stream_overhead", variables=variables)) for _ in range(rounds)
        )
    verdict = "met" if taken < CPU_PER_TOKEN_IN_MS else "MISSED"
    return Figure("CPU per streamed token", f"< {CPU_PER_TOKEN_IN_MS} ms", f"{taken:.3f} ms", "", verdict)


@contextmanager
def _endpoint(own: dict[str, str]) -> Iterator[Mapping[str, str]]:
    """Run an endpoint that answers at once; yields the function's environment, which points to it."""
    server = [sys.executable, "-m", "tools.benchmarks.answers.instant_endpoint"]
    with subprocess.Popen(server, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as endpoint:
        assert endpoint.stdout
        yield environment(**own, AWS_ENDPOINT_URL=f"http://127.0.0.1:{endpoint.stdout.readline().strip()}")
        endpoint.terminate()


def _printed(program: str, *arguments: str, variables: Mapping[str, str]) -> str:
    command = [sys.executable, "-m", program, *arguments]
    return subprocess.run(command, cwd=ROOT, env=variables, stdout=subprocess.PIPE, text=True, check=True).stdout


def _warm(rounds: int, own: dict[str, str]) -> Iterator[Figure]:
    with _endpoint(own) as variables:
        measured = json.loads(_printed("tools.benchmarks.answers.warm_calls", str(rounds), variables=variables))
    taken = [Round(*each) for each in measured["rounds"]]
    (raw_median, median), (raw_late, late) = measured["p50"], measured["p99"]
    note = f" ({raw_median:.2f} -> {median:.2f} ms)"
    yield judge("warm handler / boto3 call to the same endpoint, p50", taken, 1.25, note)
    yield Figure("the same, p99", "shown", f"{late / raw_late:.2f} ({raw_late:.2f} -> {late:.2f} ms)")
