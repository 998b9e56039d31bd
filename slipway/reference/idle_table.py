"""The table of docs/idle.md: what each way to be idle costs in a month, how fast it answers, and what it can't."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from llm_hosting.deployment.model import Deployment
from llm_hosting.resolution import Placement, resolve
from llm_hosting.resolution.estimates import answer_time_in_seconds
from llm_hosting.resolution.idle import TYPICAL_BUSY_HOURS, idle_time, usd_per_month

_ANSWER_IN_TOKENS = 300
_ON_GPU, _ON_MACHINE = "qwen3-4b", "qwen3-0-6b-ec2"
_ALARM_IN_SECONDS = 90  # the alarm of an asynchronous endpoint looks at whole minutes, and its policy acts after it
_FIRST_TOKEN_IN_SECONDS = 1  # a prompt of 1,000 tokens, on a model that is not busy


@dataclass(frozen=True)
class _Way:
    """One row. file: a shipped deployment; settings: those of `hosting` in which the row differs from it."""

    title: str
    file: str
    settings: Mapping[str, Any]
    streams: str
    queues: str
    cannot: str


_REALTIME_QUEUE = "jobs and batches"
_WAYS = (
    _Way(
        "`realtime`, [always-on](#always-on)",
        _ON_GPU,
        {},
        "yes",
        _REALTIME_QUEUE,
        "cost less at night",
    ),
    _Way(
        "`realtime`, [schedule](#a-schedule): weekdays, 08:00 to 18:00",
        _ON_GPU,
        {"idle": {"start": "08:00", "end": "18:00", "time_zone": "Europe/Berlin"}},
        "yes, a wake too",
        f"{_REALTIME_QUEUE}; calls during a wake",
        "answer at once outside its hours; run in all regions",
    ),
    _Way(
        "`realtime`, [zero](#zero)",
        _ON_GPU,
        {"idle": "zero"},
        "yes, a wake too",
        f"{_REALTIME_QUEUE}; calls during a wake",
        "answer at once after a pause; run in all regions",
    ),
    _Way(
        "[`async`](#async), minimum 0",
        _ON_GPU,
        {"mode": "async", "instance_count": {"min": 0, "max": 1}},
        "the whole answer, at its end",
        "everything, in SageMaker",
        "stream token by token",
    ),
    _Way(
        "[`ec2`](#ec2), on CPUs, a smaller model",
        _ON_MACHINE,
        {},
        "the whole answer, at its end",
        "everything, in the stack's queue",
        "use a GPU; stream token by token",
    ),
)


def idle_table(root: Path) -> Iterator[str]:
    """Yield the lines of the table. root: the project."""
    hours = " | ".join(f"{hours} h" for hours in TYPICAL_BUSY_HOURS)
    yield f"| Way | {hours} | First token asleep | Awake | Streams | Queues | Can't |"
    yield f"| --- |{' ---: |' * len(TYPICAL_BUSY_HOURS)} --- | --- | --- | --- | --- |"
    for way in _WAYS:
        placement = _placement(way, root)
        prices = [_dollars(usd_per_month(placement, hours)) for hours in TYPICAL_BUSY_HOURS]
        first = (_asleep(placement), _shown(_awake(placement)))
        cells = (way.title, *prices, *first, way.streams, way.queues, way.cannot)
        yield f"| {' | '.join(cells)} |"


def _placement(way: _Way, root: Path) -> Placement:
    content = yaml.safe_load((root / "deployments" / f"{way.file}.yaml").read_text())
    serving = content.get("serving", {}) | {"max_new_tokens": _ANSWER_IN_TOKENS}
    hosting = content["hosting"] | dict(way.settings)
    return resolve(Deployment.model_validate(content | {"serving": serving, "hosting": hosting})).placements[0]


def _dollars(price: float | None) -> str:
    return "not known" if price is None else f"{price:,.0f}"


def _asleep(placement: Placement) -> str:
    """Return the time to the first token of a call that wakes the model."""
    idle, hosting = idle_time(placement), placement.container.deployment.hosting
    if idle.stays_in_minutes is None:
        return "never sleeps"
    if idle.wake_in_seconds is None:
        return "not known"
    alarm = _ALARM_IN_SECONDS if hosting.queues_in_sagemaker else 0
    return f"~ {(alarm + idle.wake_in_seconds + (_awake(placement) or 0)) / 60:.0f} min"


def _awake(placement: Placement) -> float | None:
    """Return the seconds to the first token of an idle model, or to the whole answer where it comes as a whole."""
    if placement.container.deployment.hosting.answers_at_once:
        return _FIRST_TOKEN_IN_SECONDS
    answer = answer_time_in_seconds(placement)
    return answer.likely if answer else None


def _shown(seconds: float | None) -> str:
    return "not estimated" if seconds is None else f"~ {seconds:.0f} s"
