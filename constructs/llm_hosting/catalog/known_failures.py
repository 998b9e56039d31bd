"""Combinations that people reported as failing, where no rule of hardware or version explains it."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from .versions import version_of


@dataclass(frozen=True)
class KnownFailure:
    """`what` happened and the `fix`, as parts of a sentence; `source` is the report.

    engine: one of the catalog's, `vllm` for vLLM in whichever image, or `tei` for Text Embeddings Inference in an own
    one. first, last: its versions, both included. models: how their ids on the Hub begin, in lower case. families: of
    instance types. quantizations: of the weights. least_degree: of tensor parallelism. unless: variables that mend it:
    with one of them set, nothing is said.
    None and () stand for all.
    """

    engine: str
    what: str
    fix: str
    source: str
    first: str | None = None
    last: str | None = None
    models: tuple[str, ...] = ()
    families: tuple[str, ...] = ()
    quantizations: tuple[str, ...] = ()
    least_degree: int = 1
    unless: tuple[str, ...] = ()

    def covers(self, version: str | None) -> bool:
        """Whether this version of the engine is among those that fail; None = unknown."""
        if version is None:
            return self.first is None and self.last is None
        here = version_of(version)
        return version_of(self.first or "0") <= here and (self.last is None or here <= version_of(self.last))


def known_failures(
    versions: Mapping[str, str | None], family: str, model_id: str, quantization: str | None, degree: int
) -> Iterator[KnownFailure]:
    """What was reported of a deployment like this one.

    versions: of the engine and, by the name `vllm`, of vLLM in its image; None = not known.
    """
    for failure in _failures():
        is_engine = failure.engine in versions and failure.covers(versions[failure.engine])
        if not is_engine or degree < failure.least_degree:
            continue
        is_model = not failure.models or model_id.lower().startswith(failure.models)
        is_format = not failure.quantizations or quantization in failure.quantizations
        if is_model and is_format and (not failure.families or family in failure.families):
            yield failure


@cache
def _failures() -> tuple[KnownFailure, ...]:
    data: dict[str, Any] = json.loads(Path(__file__).with_name("known_failures.json").read_text())
    return tuple(_failure(row) for row in data["failures"])


def _failure(row: dict[str, Any]) -> KnownFailure:
    values: dict[str, Any] = {name: tuple(value) if isinstance(value, list) else value for name, value in row.items()}
    return KnownFailure(**values)
