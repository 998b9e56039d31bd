"""Compares two runs: which figures changed beyond noise."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import NormalDist
from typing import Literal

from slipway.measuring.figures.level import METRICS, Level, Metric, levels, open_levels, total_in_s
from slipway.measuring.figures.percentiles import percentile
from slipway.measuring.figures.results import MeasuredAnswer, Results
from slipway.measuring.figures.shown import milliseconds, number, share
from slipway.measuring.figures.slo import bracket, parse
from slipway.measuring.report.bootstrap import Interval, flat, ratio
from slipway.measuring.report.tables import remarks

Verdict = Literal["better", "worse", "no difference", "too few answers"]
_QUESTIONS: tuple[tuple[Metric, int], ...] = (("ttft", 50), ("ttft", 90), ("tpot", 50), ("total", 50), ("total", 90))
_FEWEST = 10
_VAGUE_SHARE = 0.25  # of failures: where noise leaves such a difference possible, nothing is known of it
# Noise alone makes one whole comparison in twenty wrong, however many figures it compares.
_ERROR = 0.05
_Load = tuple[int | None, float | None]
_SETTINGS = {
    "deployment": "deployment",
    "model": "model",
    "commit": "commit of the model",
    "engine": "engine",
    "version": "version",
    "instance_type": "instance type",
    "degree": "degree",
    "context": "context",
    "region": "region",
    "usd_per_hour": "USD an hour",
}
_WORK = {
    "prompts": "prompts",
    "prompt_tokens": "tokens in",
    "answer_tokens": "tokens out",
    "batch": "batch",
    "seed": "seed",
}


class ComparisonError(Exception):
    """Two runs can't be compared; the message is one sentence."""


@dataclass(frozen=True)
class ComparedFigure:
    """One figure at one load. change: the ratio B / A with its interval, as text; empty if there is none."""

    load: str
    figure: str
    a: str
    b: str
    change: str
    verdict: Verdict


@dataclass(frozen=True)
class Comparison:
    """The comparison of two runs.

    settings: name, value of A and value of B of each setting that differs. warnings: sentences.
    """

    stand_in: bool
    settings: tuple[tuple[str, str, str], ...]
    warnings: tuple[str, ...]
    rows: tuple[ComparedFigure, ...]

    @property
    def is_worse(self) -> bool:
        return any(row.verdict == "worse" for row in self.rows)


def compare(a: Results, b: Results) -> Comparison:
    """Compare A, the run before, with B. Raises ComparisonError if the runs measured different things."""
    if a.stand_in != b.stand_in:
        which = "A" if a.stand_in else "B"
        raise ComparisonError(
            f"{which} was measured on the local cloud's stand-in, the other on AWS: these figures can't be compared."
        )
    if a.route != b.route:
        raise ComparisonError(f"A measured the route {a.route}, B {b.route}: measure both on the same route.")
    of_a, of_b = ({(level.clients, level.rate): level for level in levels(each)} for each in (a, b))
    objective = _objective(a, b)
    if objective is None and not of_a.keys() & of_b.keys():
        loads = (", ".join(level.name for level in each.values()) or "none" for each in (of_a, of_b))
        raise ComparisonError("The runs have no load in common: A has {}, B has {}.".format(*loads))
    pairs = [(level, of_b[load]) for load, level in of_a.items() if load in of_b]
    questions = len(pairs) * (len(_QUESTIONS) + 2)
    rows = [row for pair in pairs for row in _rows(*pair, flat(pairs), _ERROR / questions)]
    settings = (*_differing(a, b, _SETTINGS), *_versions(a, b))
    return Comparison(a.stand_in, settings, tuple(_warnings(a, b, of_a, of_b)), (*rows, *filter(None, [objective])))


def _differing(a: Results, b: Results, names: dict[str, str]) -> Iterator[tuple[str, str, str]]:
    for field, name in names.items():
        of_a, of_b = (getattr(each, field) for each in (a, b))
        if of_a != of_b:
            yield name, "-" if of_a is None else str(of_a), "-" if of_b is None else str(of_b)


def _versions(a: Results, b: Results) -> Iterator[tuple[str, str, str]]:
    for name in sorted(a.versions.keys() | b.versions.keys()):
        of_a, of_b = a.versions.get(name, "-"), b.versions.get(name, "-")
        if of_a != of_b:
            yield name, of_a, of_b


def _warnings(a: Results, b: Results, of_a: dict[_Load, Level], of_b: dict[_Load, Level]) -> Iterator[str]:
    for name, value_a, value_b in _differing(a, b, _WORK):
        yield f"The prompts differ: {name} is {value_a} in A and {value_b} in B, so the work is not the same."
    for name, results in (("A", a), ("B", b)):
        yield from (f"{name}: {remark}" for remark in remarks(results))
    alone = [
        level.name
        for level in [*of_a.values(), *of_b.values()]
        if (level.clients, level.rate) not in of_a.keys() & of_b.keys()
    ]
    if alone:
        yield f"Measured in one of the runs only, so not compared: {', '.join(alone)}."
    if any(min(len(level.rounds), len(of_b[load].rounds)) < 2 for load, level in of_a.items() if load in of_b):
        yield (
            "A load with one round tells nothing of the noise between rounds: a slow minute may look like a change. "
            "Measure each load in several rounds."
        )


def _rows(a: Level, b: Level, every: Sequence[Level], error: float) -> Iterator[ComparedFigure]:
    for metric, percent in _QUESTIONS:
        of_a, of_b = _times(a, metric), _times(b, metric)
        if any(of_a) and any(of_b):
            at, alike = partial(percentile, share=percent), [_times(level, metric) for level in every]
            interval = ratio(at, of_a, of_b, alike, error) if _are_enough(of_a, of_b) else None
            value_a, value_b = (milliseconds(level.percentile(metric, percent)) for level in (a, b))
            yield _row(a, f"{METRICS[metric]} P{percent}, ms", value_a, value_b, interval, less_is_better=True)
    if a.clients and None not in (a.token_rate, b.token_rate):
        work_a, work_b = _work(a), _work(b)
        alike_work = [_work(level) for level in every if level.clients]
        interval = ratio(_speed, work_a, work_b, alike_work, error) if _are_enough(work_a, work_b) else None
        # Not the level's own rate: it includes time lost in failures, which have a row of their own.
        rate_a, rate_b = (number(a.clients * (_speed(flat(work)) or 0)) for work in (work_a, work_b))
        yield _row(a, "tokens out/s while answering", rate_a, rate_b, interval, less_is_better=False)
    if a.errors or b.errors:
        yield _failures(a, b, error)


def _objective(a: Results, b: Results) -> ComparedFigure | None:
    """Compare the rates that hold the same objective. They differ if one run held a rate that the other did not."""
    if not a.slo or a.slo != b.slo:
        return None
    (held_a, broken_a), (held_b, broken_b) = (bracket(parse(each.slo or ""), open_levels(each)) for each in (a, b))
    verdict: Verdict = "no difference"
    if held_b and broken_a and (held_b.rate or 0) >= (broken_a.rate or 0):
        verdict = "better"
    if held_a and broken_b and (held_a.rate or 0) >= (broken_b.rate or 0):
        verdict = "worse"
    name_a, name_b = (level.name if level else "none" for level in (held_a, held_b))
    return ComparedFigure("highest rate", a.slo, name_a, name_b, "", verdict)


def _in_time(answers: Sequence[MeasuredAnswer]) -> list[MeasuredAnswer]:
    return sorted(answers, key=lambda answer: answer.started_in_s)


def _times(level: Level, metric: Metric) -> list[list[float]]:
    return [
        [time for answer in _in_time(load.answers) if (time := level.time_in_s(answer, metric)) is not None]
        for load in level.rounds
    ]


def _work(level: Level) -> list[list[tuple[float, float]]]:
    """Tokens and seconds of each answer."""
    return [
        [(level.tokens(each) or 0, total) for each in _in_time(load.answers) if (total := total_in_s(each)) is not None]
        for load in level.rounds
    ]


def _speed(work: Sequence[tuple[float, float]]) -> float | None:
    """The speed of one client in a closed loop, who always waits for an answer."""
    seconds = sum(each for _, each in work)
    return sum(tokens for tokens, _ in work) / seconds if seconds else None


def _are_enough(*of: Sequence[Sequence[object]]) -> bool:
    return all(sum(map(len, rounds)) >= _FEWEST for rounds in of)


def _row(
    level: Level, figure: str, a: str, b: str, interval: Interval | None, *, less_is_better: bool
) -> ComparedFigure:
    if interval is None:
        return ComparedFigure(level.name, figure, a, b, "", "too few answers")
    verdict: Verdict = "no difference"
    if interval.is_vague:
        verdict = "too few answers"
    elif not interval.is_noise:
        verdict = "better" if (interval.ratio < 1) == less_is_better else "worse"
    change = f"x {interval.ratio:.3f} ({interval.low:.3f} to {interval.high:.3f})"
    return ComparedFigure(level.name, figure, a, b, change, verdict)


def _failures(a: Level, b: Level, error: float) -> ComparedFigure:
    """Compare the shares of failures. The interval is Newcombe's, from two Wilson intervals."""
    (p, low_p, high_p), (q, low_q, high_q) = (_wilson(level, error) for level in (a, b))
    low = q - p - math.hypot(q - low_q, high_p - p)
    high = q - p + math.hypot(high_q - q, p - low_p)
    vague: Verdict = "too few answers" if max(-low, high) > _VAGUE_SHARE else "no difference"
    verdict: Verdict = "worse" if low > 0 else "better" if high < 0 else vague
    change = f"{100 * (q - p):+.1f} points ({100 * low:+.1f} to {100 * high:+.1f})"
    return ComparedFigure(a.name, "failed requests", share(p), share(q), change, verdict)


def _wilson(level: Level, error: float) -> tuple[float, float, float]:
    """The share of failures, and its Wilson interval."""
    count, p, z = max(len(level.requests), 1), level.failed_share, NormalDist().inv_cdf(1 - error / 2)
    middle = p + z**2 / (2 * count)
    half = z * math.sqrt(p * (1 - p) / count + z**2 / (4 * count**2))
    return p, (middle - half) / (1 + z**2 / count), (middle + half) / (1 + z**2 / count)
