"""Measures the function behind POST /generate: cold start, overhead of a call, size of the asset."""

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from statistics import median

from local_cloud.assembly import Stack, read_stacks, synthesize
from tools.benchmarks.answers.stream_overhead import BODIES
from tools.benchmarks.shared.pairs import ROOT, Figure, Round, alternate, cpu_seconds, environment, judge, work

DEPLOYMENT = "qwen3-4b"
STARTS_PER_ROUND = work(6)  # one start is too short to measure
OVERHEAD = "tools.benchmarks.answers.stream_overhead"
COLD_CLIENT = 'import boto3; boto3.client("sagemaker-runtime")'
COLD_HANDLER = "from inference_api.handlers import generate; generate.routes.streaming_endpoint()"
# A call that is traced sends its first segment in a cold start, too.
COLD_CALL = f"{COLD_HANDLER}; generate.MeteredCall(None, None).segment.end()"
TRACED = {
    "TRACING": "on",
    "AWS_XRAY_DAEMON_ADDRESS": "127.0.0.1:9",  # nobody listens; a datagram that is lost takes as long
    "_X_AMZN_TRACE_ID": "Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=1",
}
CPU_PER_TOKEN_IN_MS = 0.2
# What a response may take more than the chat that it becomes.
MORE_CPU_PER_TOKEN_IN_MS = 0.1
MORE_UNTIL_THE_FIRST_EVENT_IN_MS = 3
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
    own = variables_of(stack)
    taken = alternate(lambda: _cold(COLD_CLIENT, own), lambda: _cold(COLD_HANDLER, own), rounds, STARTS_PER_ROUND)
    yield judge("cold handler / import boto3 and a client", taken, 1.15)
    taken = alternate(lambda: _cold(COLD_CALL, own), lambda: _cold(COLD_CALL, own | TRACED), rounds, STARTS_PER_ROUND)
    yield judge("cold handler, traced / not traced", taken, 1.05)
    yield from _streams(rounds, own)
    yield from _warm(rounds, own)
    size = min(len(asset.read()) for asset in stack.assets) / 1024
    yield Figure("function asset, zipped", "shown", f"{size:.1f} kB")


def variables_of(stack: Stack) -> dict[str, str]:
    """The function's environment as in the template, with "unused" for values that only a deploy knows."""
    functions = (each for each in stack.template["Resources"].values() if each["Type"] == "AWS::Lambda::Function")
    found = (
        each["Properties"]["Environment"]["Variables"] for each in functions if "Environment" in each["Properties"]
    )
    variables = next(each for each in found if "REQUEST_SCHEMA" in each)
    return DEPLOYED | {name: value if isinstance(value, str) else "unused" for name, value in variables.items()}


def _cold(program: str, own: dict[str, str]) -> float:
    return cpu_seconds([sys.executable, "-c", program], environment(**own))


def _streams(rounds: int, own: dict[str, str]) -> Iterator[Figure]:
    """Figures of a streamed chat, and of the response to the same stream; the two take turns."""
    with endpoint(own) as variables:
        taken = [[json.loads(printed(OVERHEAD, each, variables=variables)) for each in BODIES] for _ in range(rounds)]
    chat = median(of_chat[0] for of_chat, _ in taken)
    yield _below("CPU per streamed token", chat, CPU_PER_TOKEN_IN_MS)
    for index, name, limit in (
        (0, "CPU per token of a response, more than of its chat", MORE_CPU_PER_TOKEN_IN_MS),
        (1, "first event of a response, later than of its chat", MORE_UNTIL_THE_FIRST_EVENT_IN_MS),
    ):
        yield _below(name, median(of_response[index] - of_chat[index] for of_chat, of_response in taken), limit)


def _below(name: str, milliseconds: float, limit: float) -> Figure:
    verdict = "met" if milliseconds < limit else "MISSED"
    return Figure(name, f"< {limit} ms", f"{milliseconds:.3f} ms", "", verdict)


@contextmanager
def endpoint(own: dict[str, str]) -> Iterator[Mapping[str, str]]:
    """Run an endpoint that answers at once; yields the function's environment, which points to it."""
    server = [sys.executable, "-m", "tools.benchmarks.answers.instant_endpoint"]
    with subprocess.Popen(server, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout
        yield environment(**own, AWS_ENDPOINT_URL=f"http://127.0.0.1:{running.stdout.readline().strip()}")
        running.terminate()


def printed(program: str, *arguments: str, variables: Mapping[str, str]) -> str:
    """Run a program of this folder; return what it prints."""
    command = [sys.executable, "-m", program, *arguments]
    return subprocess.run(command, cwd=ROOT, env=variables, stdout=subprocess.PIPE, text=True, check=True).stdout


def _warm(rounds: int, own: dict[str, str]) -> Iterator[Figure]:
    with endpoint(own) as variables:
        measured, traced = (
            json.loads(printed("tools.benchmarks.answers.warm_calls", str(rounds), variables=each))
            for each in (variables, {**variables, **TRACED})
        )
    taken = [Round(*each) for each in measured["rounds"]]
    (raw_median, median), (raw_late, late) = measured["p50"], measured["p99"]
    note = f" ({raw_median:.2f} -> {median:.2f} ms)"
    yield judge("warm handler / boto3 call to the same endpoint, p50", taken, 1.25, note)
    yield Figure("the same, p99", "shown", f"{late / raw_late:.2f} ({raw_late:.2f} -> {late:.2f} ms)")
    raw_median, median = traced["p50"]
    yield Figure("the same, traced, p50", "shown", f"{median / raw_median:.2f} ({raw_median:.2f} -> {median:.2f} ms)")
