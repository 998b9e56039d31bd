"""Measures streams on the local cloud: the first byte against SageMaker's own stream, and many streams at once."""

import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any
from urllib.parse import urlsplit

import yaml

from local_cloud.assembly import Stack, read_stacks, synthesize
from local_cloud.cloud import LocalCloud, free_port
from local_cloud.deploy import deploy
from tools.benchmarks.shared.pairs import Figure, alternate, judge, work

ACCOUNT_SETTINGS = "slipway-account-settings"
SECONDS_PER_TOKEN = 0.2  # for the first token too, as an 8B model takes for a prompt of some thousand tokens
FIRST_BYTE_LIMIT = 1.15
TURNS = work(10)
STREAMS = work(50)
BODY = {"messages": [{"role": "user", "content": "What is a list?"}], "stream": True}
LONG = 2000  # tokens: longer than SageMaker lets a stream last, so that no stream ends before all have begun
DEPLOYMENT = {
    "model": {"id": "Qwen/Qwen3-4B"},
    "serving": {
        "engine": "lmi-vllm",
        "version": "0.36.0-lmi28",
        "max_model_len": 8192,
        "environment": {"SLIPWAY_LOCAL_SECONDS_PER_TOKEN": str(SECONDS_PER_TOKEN)},
    },
    "hosting": {"instance_type": "ml.g6.2xlarge"},
    "api": {"auth": "none", "throttle": {"rate": 1000, "burst": 2000}},
    "jobs": {"enabled": False},
}


def figures(rounds: int) -> Iterator[Figure]:
    """Figures of streams. Raises SystemExit if a stream does not begin."""
    with TemporaryDirectory() as folder, LocalCloud(port=free_port()) as cloud:
        settings, stack = _synthesized(Path(folder))
        cloud.wait_until_ready()
        deploy(cloud, settings)
        outputs = deploy(cloud, stack)
        url = outputs["ApiUrl"]
        raw = _raw(cloud.client("sagemaker-runtime", region=stack.region), outputs["EndpointName"])
        times = {"raw": list[float](), "ours": list[float]()}
        taken = alternate(_timed(raw, times["raw"]), _timed(lambda: _first(url), times["ours"]), rounds, TURNS)
        note = " ({:.0f} -> {:.0f} ms)".format(*(1000 * median(each) for each in times.values()))
        yield judge("first byte of a chat / of SageMaker's own stream", taken, FIRST_BYTE_LIMIT, note)
        started = perf_counter()
        with ThreadPoolExecutor(STREAMS) as side_by_side:
            streams = list(side_by_side.map(lambda _: _begun(url, LONG), range(STREAMS)))
        seconds = perf_counter() - started
        ended = sum(not _goes_on(answer) for _, answer in streams)
        for connection, _ in streams:
            connection.close()
        verdict = "MISSED" if ended else "met"
        yield Figure(f"of {STREAMS} streams at once, ended before all had begun", "0", str(ended), "", verdict)
        yield Figure("the same, until each had begun, cold", "shown", f"{seconds:.1f} s")


def _synthesized(folder: Path) -> tuple[Stack, Stack]:
    (file := folder / "streams.yaml").write_text(yaml.safe_dump(DEPLOYMENT))
    stacks = {stack.name: stack for stack in read_stacks(synthesize([str(file), ACCOUNT_SETTINGS], folder / "out"))}
    return stacks[ACCOUNT_SETTINGS], stacks["streams"]


def _timed(call: Callable[[], object], into: list[float]) -> Callable[[], float]:
    def timed() -> float:
        started = perf_counter()
        call()
        into.append(perf_counter() - started)
        return into[-1]

    return timed


def _raw(client: Any, endpoint: str) -> Callable[[], bytes]:
    """A function that returns the first part of SageMaker's own stream, as boto3 gives it."""
    body = json.dumps(BODY | {"max_tokens": 2})

    def first() -> bytes:
        answer = client.invoke_endpoint_with_response_stream(
            EndpointName=endpoint, Body=body, ContentType="application/json"
        )
        with closing(answer["Body"]) as events:
            part: bytes = next(iter(events))["PayloadPart"]["Bytes"]
        return part

    return first


def _first(url: str) -> None:
    connection, _ = _begun(url, 2)
    connection.close()


def _begun(url: str, tokens: int) -> tuple[HTTPConnection, HTTPResponse]:
    """Begin a stream; returns it after its first event."""
    where = urlsplit(url)
    connection = HTTPConnection(where.netloc, timeout=300)
    body = json.dumps(BODY | {"max_tokens": tokens})
    connection.request("POST", f"{where.path}chat/completions", body, {"content-type": "application/json"})
    answer = connection.getresponse()
    line = answer.readline()
    if answer.status != 200 or not line.startswith(b"data: {"):
        raise SystemExit(f"The stream does not begin: {answer.status}: {line!r}")
    return connection, answer


def _goes_on(answer: HTTPResponse) -> bool:
    """Whether another event comes that is not the last."""
    while (line := answer.readline()) and not line.startswith(b"data: "):
        pass
    return line.startswith(b"data: {")
