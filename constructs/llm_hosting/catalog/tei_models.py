"""The models that Text Embeddings Inference computes, by the model_type in config.json."""

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class TeiModels:
    """since: the first version, by model_type. flash_attention_only: those that need an Ampere GPU and 16 bits.

    fp32_only: those that need 32 bits.
    """

    since: Mapping[str, str]
    flash_attention_only: Collection[str]
    fp32_only: Collection[str]


@cache
def tei_models() -> TeiModels:
    """Return the table."""
    data: dict[str, Any] = json.loads(Path(__file__).with_name("tei_models.json").read_text())
    return TeiModels(data["since"], data["flash_attention_only"], data["fp32_only"])
