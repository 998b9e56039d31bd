"""The first version of transformers that reads a config.json, by its model_type."""

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from .models import ModelShape
from .versions import is_before

_OLDEST = "4.41.0"  # of the versions that the file tells apart


def first_transformers(shape: ModelShape, server: str) -> Iterator[tuple[str, str]]:
    """Yield each model_type that transformers looks up to read the model's config.json, and the first version with it.

    Left out: types that are not known, those of the oldest version, which may be older, and those that the server
    reads by itself. server: `vllm`, `sglang`, `tgi` or another.
    """
    whole = shape.wrapper or shape.model_type
    if whole is None:
        return
    facts = _facts()
    looked_up = (whole, shape.model_type) if whole in facts["names_its_part"] else (whole,)
    for name in filter(None, looked_up):
        since = facts["since"].get(name, _OLDEST)
        if since != _OLDEST and name not in facts.get(server, ()):
            yield name, since


def knows_type(name: str, server: str, transformers: str | None) -> bool:
    """Whether a config.json of this model_type can be read without code of the model's own.

    server: as above. transformers: its version; None = any.
    """
    since = _facts()["since"].get(name)
    reads_itself = name in _facts().get(server, ())
    return reads_itself or since == _OLDEST or (since is not None and not is_before(transformers, since))


@cache
def _facts() -> dict[str, Any]:
    facts: dict[str, Any] = json.loads(Path(__file__).with_name("model_types.json").read_text())
    return facts
