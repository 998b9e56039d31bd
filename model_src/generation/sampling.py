"""Chooses one token for each row of logits: the most likely one, or one drawn by temperature, top-k and top-p."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from .request import Sampling

_FIRST_LOOK = 1024  # tokens, rarely too few; to sort a whole vocabulary takes as long as a small model's step


def draw(logits: torch.Tensor, sampling: Sampling, generators: Sequence[torch.Generator]) -> list[int]:
    """One token for each row. logits: rows x vocabulary. generators: one for each row, so rows draw independently."""
    if sampling.temperature == 0:
        return [int(token) for token in logits.argmax(-1)]
    rows = distribution(logits, sampling)
    return [int(torch.multinomial(row, 1, generator=own)) for row, own in zip(rows, generators, strict=True)]


def distribution(logits: torch.Tensor, sampling: Sampling) -> torch.Tensor:
    """Probabilities after temperature, then top-k, then top-p; in float32 or finer."""
    logits = logits.to(torch.promote_types(logits.dtype, torch.float32)) / sampling.temperature
    if 0 < sampling.top_k < logits.shape[-1]:
        least = logits.topk(sampling.top_k).values[:, -1:]
        logits = logits.masked_fill(logits < least, -torch.inf)
    if sampling.top_p < 1:
        logits = logits.masked_fill(~_nucleus(logits.softmax(-1), sampling.top_p), -torch.inf)
    return logits.softmax(-1)


def _nucleus(probabilities: torch.Tensor, top_p: float) -> torch.Tensor:
    """A mask: True for the fewest most likely tokens whose probabilities sum to top_p; at least one token."""
    for size in (min(_FIRST_LOOK, probabilities.shape[-1]), probabilities.shape[-1]):
        highest, tokens = probabilities.topk(size)
        before = highest.cumsum(-1) - highest
        if (before[:, -1] >= top_p).all():
            break
    kept = torch.zeros_like(probabilities, dtype=torch.bool)
    return kept.scatter(-1, tokens, before < top_p)
