"""Asks a deployed model for the vectors of texts, and shows how similar the texts are."""

import json
import sys
from collections.abc import Sequence
from math import sqrt
from operator import mul

from slipway.hosting.hosting import hosting_of
from slipway.operations.call import sleep_notice
from slipway.shared.table import print_table
from slipway.stack.api import DeployedApi, refusal
from slipway.stack.deployed_stack import DeployedStack, with_stack

_LONGEST_WAIT = 840  # of POST /embeddings for a model that sleeps, in seconds
_LONGEST_TEXT = 60  # characters, in the table

Vector = Sequence[float]


def run(name: str, region: str | None, texts: Sequence[str], *, as_json: bool, timeout: int) -> int:
    """Print the size of the vectors, and each pair's similarity (the cosine). Returns the exit status.

    as_json: print the whole answer. timeout: seconds to wait for a model that sleeps, at most 840.
    """
    return with_stack(name, region, lambda stack: _embed(stack, texts, as_json, min(timeout, _LONGEST_WAIT)))


def _embed(stack: DeployedStack, texts: Sequence[str], as_json: bool, wait: int) -> int:
    if problem := refusal(stack, as_job=False):
        print(problem, file=sys.stderr)
        return 2
    api = DeployedApi(stack)
    if hosting_of(stack).may_sleep and (notice := sleep_notice(api.call("GET", "endpoint"))):
        print(notice, file=sys.stderr)
    answer = api.call("POST", f"embeddings?wait={wait}", {"input": list(texts)})
    if answer.status != 200 or "error" in answer.content:  # a held answer has sent its status before its error
        print(answer.problem, file=sys.stderr)
        return 1
    if as_json:
        print(json.dumps(answer.content, indent=2))
        return 0
    vectors = [row["embedding"] for row in answer.content["data"]]
    tokens = answer.content["usage"]["prompt_tokens"]
    print(f"{_counted(len(vectors), 'vector')} of {_counted(len(vectors[0]), 'number')} ({_counted(tokens, 'token')})")
    if len(texts) > 1:
        print()
        _show(texts, vectors)
    return 0


def _show(texts: Sequence[str], vectors: Sequence[Vector]) -> None:
    numbers = [str(number) for number, _ in enumerate(texts, 1)]
    rows = [
        [number, *(f"{_similarity(vector, other):.2f}" for other in vectors), _cut(text)]
        for number, text, vector in zip(numbers, texts, vectors, strict=True)
    ]
    print_table(["", *numbers, "text"], rows, right=numbers)


def _similarity(one: Vector, other: Vector) -> float:
    lengths = sqrt(sum(map(mul, one, one)) * sum(map(mul, other, other)))
    return float(sum(map(mul, one, other)) / (lengths or 1.0))


def _cut(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST_TEXT else f"{line[: _LONGEST_TEXT - 3]}..."


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
