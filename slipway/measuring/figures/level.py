"""A level of load, with the answers of all its rounds: latencies, rates, failures."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from slipway.measuring.figures.percentiles import percentile
from slipway.measuring.figures.results import Load, MeasuredAnswer, Results

Metric = Literal["total", "ttft", "tpot", "queued", "delivery"]
METRICS: dict[Metric, str] = {
    "ttft": "time to first token",
    "tpot": "time per output token",
    "total": "whole answer",
    "queued": "job in the queue",
    "delivery": "end of the job to its caller",
}


def total_in_s(answer: MeasuredAnswer) -> float | None:
    """The seconds that the caller waited for the whole answer; None after an error."""
    if answer.error is not None:
        return None
    return answer.last_token_in_s if answer.delivered_in_s is None else answer.delivered_in_s


@dataclass(frozen=True)
class Level:
    """All loads of one level.

    clients, rate: as in its loads; one of them is None. batch: sequences of a request. asked_tokens: output tokens
    that each request asked for, over all sequences; used if the server counts no tokens.
    """

    clients: int | None
    rate: float | None
    rounds: tuple[Load, ...]
    batch: int
    asked_tokens: int | None

    @property
    def name(self) -> str:
        if self.clients is None:
            return f"{self.rate:g} request{'' if self.rate == 1 else 's'}/s"
        return f"{self.clients} client{'' if self.clients == 1 else 's'}"

    @cached_property
    def requests(self) -> tuple[MeasuredAnswer, ...]:
        return tuple(answer for load in self.rounds for answer in load.answers)

    @cached_property
    def answered(self) -> tuple[MeasuredAnswer, ...]:
        return tuple(answer for answer in self.requests if total_in_s(answer) is not None)

    @property
    def seconds(self) -> float:
        return sum(load.seconds for load in self.rounds)

    @property
    def errors(self) -> dict[str, int]:
        """Failed requests by code, most frequent first."""
        return dict(Counter(answer.error for answer in self.requests if answer.error is not None).most_common())

    @property
    def failed_share(self) -> float:
        return sum(self.errors.values()) / len(self.requests) if self.requests else 0.0

    def time_in_s(self, answer: MeasuredAnswer, metric: Metric) -> float | None:
        """One time of an answer in seconds; None if it was not measured. The time per output token is that of one
        sequence, without its first token.
        """
        total = total_in_s(answer)
        if total is None or metric == "total":
            return total
        if metric == "ttft":
            return answer.first_token_in_s
        if metric == "queued":
            return answer.queued_in_s
        if metric == "delivery":
            delivered, end = answer.delivered_in_s, answer.last_token_in_s
            return None if delivered is None or end is None else delivered - end
        rest = (self.tokens(answer) or 0) / self.batch - 1
        if answer.first_token_in_s is None or rest <= 0:
            return None
        return (total - answer.first_token_in_s) / rest

    def times(self, metric: Metric) -> list[float]:
        """The times of all answered requests, in seconds."""
        measured = (self.time_in_s(answer, metric) for answer in self.answered)
        return [time for time in measured if time is not None]

    def percentile(self, metric: Metric, share: float) -> float | None:
        """A percentile of the times, in seconds."""
        return percentile(self.times(metric), share)

    def tokens(self, answer: MeasuredAnswer) -> int | None:
        """Output tokens of all sequences."""
        return self.asked_tokens if answer.answer_tokens is None else answer.answer_tokens

    @property
    def request_rate(self) -> float | None:
        """Answers per second."""
        return len(self.answered) / self.seconds if self.seconds and self.requests else None

    @property
    def token_rate(self) -> float | None:
        """Output tokens per second of all clients together."""
        return self._rate(self.tokens)

    @property
    def prompt_token_rate(self) -> float | None:
        return self._rate(lambda answer: answer.prompt_tokens)

    def _rate(self, tokens: Callable[[MeasuredAnswer], int | None]) -> float | None:
        """Tokens per second; None if a count is missing, because the rest would give a wrong rate."""
        counts = [tokens(answer) for answer in self.answered]
        if not counts or not self.seconds or None in counts:
            return None
        return sum(count or 0 for count in counts) / self.seconds

    @property
    def published_token_rate(self) -> float | None:
        """Batch x output tokens / P50: the rate of one request, as published tables compute it."""
        median, tokens = self.percentile("total", 50), self.tokens_of_a_request
        return tokens / median if tokens and median else None

    @property
    def tokens_of_a_request(self) -> float | None:
        """The median number of output tokens of all answers."""
        counts = [self.tokens(answer) for answer in self.answered]
        return percentile((count for count in counts if count is not None), 50)


def levels(results: Results) -> list[Level]:
    """The levels by rising load, closed loops first. Rounds of a level are one level."""
    rounds: dict[tuple[int | None, float | None], list[Load]] = {}
    for load in results.loads:
        rounds.setdefault((load.clients, load.rate), []).append(load)
    asked = results.answer_tokens and results.batch * results.answer_tokens
    found = [Level(clients, rate, tuple(each), results.batch, asked) for (clients, rate), each in rounds.items()]
    return sorted(found, key=lambda level: (level.clients is None, level.clients or level.rate or 0))


def open_levels(results: Results) -> list[Level]:
    """The levels of open loops."""
    return [level for level in levels(results) if level.rate is not None]
