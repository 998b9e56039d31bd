"""Decodes rows together: one forward pass for each token, with a common key-value cache."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

import torch

from .language_model import LanguageModel
from .request import Sampling
from .sampling import draw

_SPARE_TOKENS = 8  # the first token of a tail may be half a character or lose its space


@dataclass(eq=False)
class Row:
    """One sample that is being generated.

    prompt: token ids; samples of one prompt share the list. length: the most tokens. ended: `stop` or `length`; None
    before the end.
    """

    prompt: list[int]
    length: int
    sampling: Sampling
    generator: torch.Generator
    ends: frozenset[int]
    stop: tuple[str, ...]
    text_of: Callable[[list[int]], str]
    is_wanted: Callable[[], bool] = lambda: True
    tokens: list[int] = field(default_factory=list)
    ended: str | None = None

    @property
    def text(self) -> str:
        """The generated text, up to the first stop sequence."""
        text = self.text_of(self.tokens)
        return text[: min((at for stop in self.stop if (at := text.find(stop)) >= 0), default=len(text))]

    def take(self, token: int) -> None:
        """Add the next token, which may end the sample."""
        if token in self.ends:
            self.ended = "stop"
            return
        self.tokens.append(token)
        if self._has_stop():
            self.ended = "stop"
        elif len(self.tokens) >= self.length:
            self.ended = "length"

    def restart(self) -> None:
        """Begin again after the prompt, with the same draws."""
        self.tokens.clear()
        self.generator.manual_seed(self.generator.initial_seed())

    def _has_stop(self) -> bool:
        """Whether the last tokens hold a stop sequence; every token but a special one has at least one byte."""
        if not self.stop:
            return False
        tail = self.text_of(self.tokens[-max(len(stop.encode()) for stop in self.stop) - _SPARE_TOKENS :])
        return any(stop in tail for stop in self.stop)


def tokens_of_cache(rows: Sequence[Row]) -> int:
    """The most tokens that the rows together take in a key-value cache, padding included."""
    return len(rows) * (max(len(row.prompt) for row in rows) + max(row.length for row in rows))


def passes(rows: Sequence[Row], most_tokens: float) -> Iterator[list[Row]]:
    """Split rows into as few groups as fit into a key-value cache of so many tokens; a group has at least one row."""
    group: list[Row] = []
    for row in rows:
        together = [*group, row]
        if group and tokens_of_cache(together) > most_tokens:
            yield group
            together = [row]
        group = together
    if group:
        yield group


class Group:
    """Rows with a common key-value cache; rows may join until the first step. rows: those that have not ended."""

    def __init__(self, model: LanguageModel, rows: Sequence[Row]) -> None:
        self.rows = list(rows)
        self._model, self._cache = model, model.new_cache()
        self._mask: torch.Tensor | None = None

    def step(self) -> None:
        """Decode one token for each row. Rows leave when they end or when their client has left."""
        with torch.inference_mode():
            for row, token in zip(self.rows, _tokens(self._logits(), self.rows), strict=True):
                row.take(token)
            self._drop_ended_rows()

    def _logits(self) -> torch.Tensor:
        if self._mask is None:
            logits, self._mask = _read_prompts(self._model, self.rows, self._cache)
            return logits
        last = torch.tensor([row.tokens[-1:] for row in self.rows])
        self._mask = torch.cat([self._mask, torch.ones_like(last)], dim=-1)
        return self._model.forward(last, self._mask, self._cache)

    def _drop_ended_rows(self) -> None:
        alive = [index for index, row in enumerate(self.rows) if not row.ended and row.is_wanted()]
        if alive and self._mask is not None and len(alive) < len(self.rows):
            self._mask = self._mask[alive]
            self._cache.reorder_cache(torch.tensor(alive))
        self.rows = [self.rows[index] for index in alive]


def _read_prompts(model: LanguageModel, rows: Sequence[Row], cache: Any) -> tuple[torch.Tensor, torch.Tensor]:
    """Logits and mask for each row. A prompt is read once for all its samples; padding is on the left."""
    prompts = [list(group) for _, group in groupby(rows, key=lambda row: id(row.prompt))]
    width = max(len(row.prompt) for row in rows)
    padding = [[0] * (width - len(samples[0].prompt)) for samples in prompts]
    tokens = torch.tensor([left + samples[0].prompt for left, samples in zip(padding, prompts, strict=True)])
    mask = torch.tensor([left + [1] * (width - len(left)) for left in padding])
    logits = model.forward(tokens, mask, cache)
    of_row = torch.tensor([index for index, samples in enumerate(prompts) for _ in samples])
    cache.reorder_cache(of_row)
    return logits[of_row], mask[of_row]


def _tokens(logits: torch.Tensor, rows: Sequence[Row]) -> Iterator[int]:
    start = 0
    for sampling, group in groupby(rows, key=lambda row: row.sampling):
        own = [row.generator for row in group]
        yield from draw(logits[start : start + len(own)], sampling, own)
        start += len(own)
