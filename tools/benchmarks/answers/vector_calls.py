"""Asks an endpoint for vectors in turn by boto3 and through the handler: `vector_calls <rounds> <encoding>`."""

import contextlib
import io
import json
import statistics
import sys
from pathlib import Path
from time import perf_counter
from typing import Any

import boto3

from inference_api.handlers.generate import handler
from inference_api.shared.settings import settings
from tools.benchmarks.shared.pairs import work

CALLS_PER_ROUND, TEXTS = work(20), 64
EVENT = Path(__file__).parents[3] / "tests" / "events" / "generate_with_iam.json"


def main() -> None:
    """Print the median of each round as JSON, in milliseconds: boto3, handler, boto3 again."""
    texts = [f"{number} {'word ' * 50}" for number in range(TEXTS)]
    body = json.dumps({"input": texts, "encoding_format": sys.argv[2]})
    event = json.loads(EVENT.read_text()) | {"resource": "/embeddings", "body": body}
    client = boto3.client("sagemaker-runtime")
    sent = {"Body": json.dumps({"inputs": texts}), "ContentType": "application/json"}

    def raw() -> Any:
        return client.invoke_endpoint(EndpointName=settings().endpoint_name, **sent)["Body"].read()

    def handled() -> Any:
        with contextlib.redirect_stdout(io.StringIO()):  # its log line
            answer = handler(event, None)
            return answer.status, b"".join(answer.pieces)

    status, answered = handled()
    if status != 200 or answered.count(b'"embedding": ') != TEXTS:
        sys.exit(f"The handler answered {status}: {answered[:300].decode()}")
    rounds = [[_median(raw), _median(handled), _median(raw)] for _ in range(int(sys.argv[1]) + 1)]
    print(json.dumps(rounds[1:]))


def _median(call: Any) -> float:
    taken = []
    for _ in range(CALLS_PER_ROUND):
        started = perf_counter()
        call()
        taken.append(1000 * (perf_counter() - started))
    return statistics.median(taken)


main()
