"""Results of a bench for tests: one with every part of a report, and loads with known waiting times."""

import random
from typing import Any

from slipway.measuring.figures.results import Load, MeasuredAnswer, Results


def results(*loads: Load, **changed: Any) -> Results:
    """Return the results of a streamed bench on AWS, with everything that a report shows."""
    given: dict[str, Any] = {
        "deployment": "qwen3-4b",
        "model": "Qwen/Qwen3-4B",
        "engine": "vllm",
        "version": "0.11.0",
        "instance_type": "ml.g5.xlarge",
        "degree": 1,
        "batch": 1,
        "route": "chat",
        "stand_in": False,
        "started_at": "2026-11-23T12:00:00+00:00",
        "seed": 1,
        "prompt_tokens": 512,
        "answer_tokens": 128,
        "usd_per_hour": 1.408,
        "versions": {"slipway": "1.0.0", "urllib3": "2.8.0"},
        "region": "eu-west-1",
    }
    return Results(**(given | {"loads": loads} | changed))


def load(totals: list[float], *, clients: int | None = 1, rate: float | None = None, **answer: Any) -> Load:
    """Return a load whose answers take `totals` seconds, one after the other; all have the fields of `answer`."""
    started, answers = 0.0, []
    for total in totals:
        answers.append(MeasuredAnswer(started, last_token_in_s=total, **answer))
        started += total / (clients or 1)
    return Load(clients, rate, started, tuple(answers))


def streamed(
    seed: int,
    count: int,
    *,
    clients: int | None = None,
    rate: float | None = None,
    slower: float = 1.0,
    failing: int = 0,
) -> Load:
    """Return a load with answers of 128 tokens. More load makes them slower; every `failing`-th request fails."""
    chance, started, answers = random.Random(seed), 0.0, []
    busy = clients or (rate or 0) * 2
    for index in range(count):
        first = slower * (0.08 + 0.012 * busy) * chance.lognormvariate(0, 0.15)
        total = first + slower * 127 * (0.011 + 0.0007 * busy) * chance.lognormvariate(0, 0.04)
        failed = failing and index % failing == failing - 1
        answers.append(
            MeasuredAnswer(started, error="503")
            if failed
            else MeasuredAnswer(started, first, total, prompt_tokens=512, answer_tokens=128)
        )
        started += 1 / rate if rate else total / (clients or 1)
    return Load(clients, rate, started, tuple(answers))
