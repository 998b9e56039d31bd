"""Rows that are decoded together: one forward pass for each token, with a key-value cache."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

import torch

from .language_model import LanguageModel
from .request import Sampling
from .sampling import draw


@dataclass(eq=False)
class Row:
    """One sample in the making.

    prompt: token ids; samples of one prompt share the list. ended: `stop` or `length`, None while it goes on.
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
        """What was generated, up to the first stop sequence."""
        text = self.text_of(self.tokens)
        return text[: min((at for stop in self.stop if (at := text.find(stop)) >= 0), default=len(text))]

    def take(self, token: int) -> None:
        """The next token, which may be the end."""
        if token in self.ends:
            self.ended = "stop"
            return
        self.tokens.append(token)
        if self.stop and len(self.text) < len(self.text_of(self.tokens)):
            self.ended = "stop"
        elif len(self.tokens) >= self.length:
            self.ended = "length"


def passes(rows: Sequence[Row], most_tokens: float) -> Iterator[list[Row]]:
    """The rows in as few groups as fit into a key-value cache of so many tokens, padding included; each has a row."""
    group: list[Row] = []
    for row in rows:
        together = [*group, row]
        width = max(len(each.prompt) for each in together) + max(each.length for each in together)
        if group and width * len(together) > most_tokens:
            yield group
            together = [row]
        group = together
    if group:
        yield group


def decode(model: LanguageModel, rows: list[Row], ended: Callable[[Row], None]) -> None:
    """Generate until every row has ended or is not wanted any more; calls `ended` with each at its end."""
    with torch.inference_mode():
        cache = model.new_cache()
        logits, mask = _read_prompts(model, rows, cache)
        while True:
            for row, token in zip(rows, _tokens(logits, rows), strict=True):
                row.take(token)
                if row.ended:
                    ended(row)
            alive = [index for index, row in enumerate(rows) if not row.ended and row.is_wanted()]
            if not alive:
                return
            if len(alive) < len(rows):
                rows = [rows[index] for index in alive]
                mask = mask[alive]
                cache.reorder_cache(torch.tensor(alive))
            last = torch.tensor([row.tokens[-1:] for row in rows])
            mask = torch.cat([mask, torch.ones_like(last)], dim=-1)
            logits = model.forward(last, mask, cache)


def _read_prompts(model: LanguageModel, rows: Sequence[Row], cache: Any) -> tuple[torch.Tensor, torch.Tensor]:
    """Logits and mask for each row. Each prompt is read once, however many samples it has; padding is on the left."""
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
