"""Lets a loaded model answer once: proves that it works, and measures its key-value cache."""

from __future__ import annotations

from pathlib import Path

import torch

from .language_model import LanguageModel
from .request import GREEDY
from .rows import Group, Row

_SHARE_OF_FREE_MEMORY = 0.6  # the rest is for the tensors of a step, and for a cache that is copied when it grows
_MEMORY = Path("/proc/meminfo")


def warm_up(model: LanguageModel) -> tuple[str, float]:
    """Returns a short greedy text, and the tokens of key-value cache for which the machine has memory.

    Raises FloatingPointError.
    """
    prompt = model.tokens_of("prompt", "The", {}) or [0]
    row = Row(prompt, 8, GREEDY, torch.Generator(), frozenset(), (), model.text_of)
    group = Group(model, [row])
    while group.rows:
        group.step()
    return row.text, _free_bytes() * _SHARE_OF_FREE_MEMORY / model.cache_bytes_per_token()


def _free_bytes() -> float:
    for line in _MEMORY.read_text().splitlines() if _MEMORY.exists() else ():
        if line.startswith("MemAvailable:"):
            return float(line.split()[1]) * 1024
    return float("inf")
