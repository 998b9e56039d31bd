"""Model architectures by the version of the library that first runs them."""

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from .versions import version_of


@dataclass(frozen=True)
class Architectures:
    """The architectures that one version of a library runs, by their names in config.json.

    known: supported architectures.
    refused: unsupported architectures, with the reason.
    others: why no other architecture runs, if the list is complete; None = not known.
    unsplit: architectures that run on one accelerator only; a tensor parallel degree above 1 ends the container.
    rope_since: the first version that computes a type of rope_scaling.
    """

    table: str
    version: str
    known: frozenset[str]
    refused: Mapping[str, str]
    others: str | None
    unsplit: frozenset[str]
    rope_since: Mapping[str, str]

    def reason_against(self, architecture: str, needs: Mapping[str, str], rope: str | None = None) -> str | None:
        """Return why a model does not run; None = it runs, or it is not known.

        needs, rope: as in `ModelShape`.
        """
        if architecture in self.refused:
            return self.refused[architecture]
        since = needs.get(self.table) or self.rope_since.get(rope or "")
        if since and version_of(self.version) < version_of(since):
            return f"{_tables()[self.table]['title']} runs it from {since} on"
        return None if architecture in self.known else self.others


@cache
def architectures(table: str, version: str) -> Architectures:
    """Return a table at one version.

    Raises KeyError for a table that does not exist.
    """
    rows = _tables()[table]
    here = version_of(version)
    refused = dict(rows.get("never", {}))
    for name, since in rows["since"].items():
        if here < version_of(since):
            refused[name] = f"{rows['title']} runs it from {since} on"
    for name, until in rows.get("until", {}).items():
        if here > version_of(until):
            refused[name] = f"{rows['title']} ran it up to {until}"
    splits = rows.get("split_since", {}).items()
    return Architectures(
        table=table,
        version=version,
        known=frozenset(rows["since"]) - frozenset(refused),
        refused=refused,
        others=rows.get("others"),
        rope_since=rows.get("rope_since", {}),
        unsplit=frozenset(name for name, since in splits if since is None or here < version_of(since)),
    )


def architecture_tables() -> Collection[str]:
    """Return the names of the tables to which versions refer."""
    return set(_tables())


@cache
def _tables() -> dict[str, Any]:
    tables: dict[str, Any] = json.loads(Path(__file__).with_name("architectures.json").read_text())["tables"]
    return tables
