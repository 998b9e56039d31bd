"""The first version of transformers that reads a config.json, by its model_type."""

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from .models import ModelShape


def first_transformers(shape: ModelShape, *, with_vllm: bool) -> Iterator[tuple[str, str]]:
    """Yield each model_type that transformers looks up to read the model's config.json, and the first version with it.

    Types that are not known are left out, and with vLLM those that it reads by itself.
    """
    whole = shape.wrapper or shape.model_type
    if whole is None:
        return
    facts = _facts()
    looked_up = (whole, shape.model_type) if whole in facts["names_its_part"] else (whole,)
    for name in filter(None, looked_up):
        if name in facts["since"] and not (with_vllm and name in facts["vllm"]):
            yield name, facts["since"][name]


@cache
def _facts() -> dict[str, Any]:
    facts: dict[str, Any] = json.loads(Path(__file__).with_name("model_types.json").read_text())
    return facts
