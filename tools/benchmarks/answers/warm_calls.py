"""Calls an endpoint in turn by boto3 and through the handler, with its environment: `warm_calls <rounds>`."""

import contextlib
import io
import json
import statistics
import sys
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any

import boto3

from inference_api.handlers.generate import handler
from inference_api.shared.settings import settings
from tools.benchmarks.shared.pairs import work

CALLS_PER_ROUND = work(300)
EVENT = Path(__file__).parents[3] / "tests" / "events" / "generate_with_iam.json"


def main() -> None:
    """Print medians of the rounds and percentiles of all calls as JSON, in milliseconds."""
    event = json.loads(EVENT.read_text())
    client = boto3.client("sagemaker-runtime")

    def raw() -> bytes:
        response = client.invoke_endpoint(
            EndpointName=settings().endpoint_name, Body=event["body"], ContentType="application/json"
        )
        text: bytes = response["Body"].read()
        return text

    def handled() -> Any:
        with contextlib.redirect_stdout(io.StringIO()):  # its log line
            answer = handler(event, None)
            return answer.status, b"".join(answer.pieces)

    status, body = handled()
    if status != 200:
        sys.exit(f"The handler answered {status}: {body.decode()}")
    rounds = [_round(raw, handled) for _ in range(int(sys.argv[1]) + 1)][1:]
    all_raw = [taken for reference, _, again in rounds for taken in reference + again]
    all_handled = [taken for _, other, _ in rounds for taken in other]
    result = {
        "rounds": [[statistics.median(each) for each in taken] for taken in rounds],
        "p50": [statistics.median(all_raw), statistics.median(all_handled)],
        "p99": [statistics.quantiles(each, n=100)[98] for each in (all_raw, all_handled)],
    }
    print(json.dumps(result))


def _round(raw: Callable[[], bytes], handled: Callable[[], Any]) -> tuple[list[float], list[float], list[float]]:
    turns = [(_timed(raw), _timed(handled), _timed(raw)) for _ in range(CALLS_PER_ROUND)]
    return [each[0] for each in turns], [each[1] for each in turns], [each[2] for each in turns]


def _timed(call: Callable[[], Any]) -> float:
    started = perf_counter()
    call()
    return 1000 * (perf_counter() - started)


main()
