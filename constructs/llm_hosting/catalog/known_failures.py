"""Combinations that people reported as failing, where no rule of hardware or version explains it."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class KnownFailure:
    """`what` happened and the `fix`, as parts of a sentence; `source` is the report. No versions = all of them."""

    engine: str
    what: str
    fix: str
    source: str
    families: tuple[str, ...]
    versions: tuple[str, ...] = ()


def known_failures(engine: str, version: str, family: str) -> Iterator[KnownFailure]:
    """What was reported of this engine and version on this family of instance types."""
    for failure in _failures():
        version_fits = not failure.versions or version in failure.versions
        if failure.engine == engine and version_fits and family in failure.families:
            yield failure


@cache
def _failures() -> tuple[KnownFailure, ...]:
    data: dict[str, Any] = json.loads(Path(__file__).with_name("known_failures.json").read_text())
    return tuple(
        KnownFailure(**{**row, "families": tuple(row["families"]), "versions": tuple(row.get("versions", ()))})
        for row in data["failures"]
    )
