"""The catalog's row for a container image: its server, the bodies that it accepts, the variables that it reads.

It reads the engines as data, from the file of engines_file.py, and imports none of the classes that build templates.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class CatalogRow:
    """One image of one engine.

    tasks: the form of requests for vectors (`embed`) and scores (`rerank`), for an image that can make them.
    constants: settings that every deployment of this engine has, such as the name of the handler.
    variables: the container's variables by the deployment's setting, such as `model` or `max_model_len`.
    """

    engine: str
    server: str
    repository: str
    tag: str
    bodies: tuple[str, ...]
    tasks: Mapping[str, str]
    handler: str | None
    constants: Mapping[str, str]
    variables: Mapping[str, str]


# An image that the catalog does not know answers like LMI with vLLM.
UNKNOWN = CatalogRow(
    engine="unknown image",
    server="djl",
    repository="",
    tag="",
    bodies=("inputs", "messages", "prompt"),
    tasks={},
    handler=None,
    constants={},
    variables={"served_model_name": "OPTION_SERVED_MODEL_NAME"},
)


def row_of(image: str, settings: Mapping[str, str], engines: Path) -> CatalogRow:
    """The row of an image URI. If an image holds several engines, the one with the most constants in the settings.

    An unknown tag counts as the repository's newest one. engines: the file with the catalog's engines.
    """
    repository, _, tag = image.partition("/")[2].partition(":")
    known = [row for row in _rows(engines) if row.repository == repository and row.tag]
    same = [row for row in known if tag.startswith(row.tag)] or known

    def fitting(row: CatalogRow) -> int:
        return sum(settings.get(name) == value for name, value in row.constants.items())

    return max(reversed(same), key=fitting, default=UNKNOWN)


def _rows(engines: Path) -> Iterator[CatalogRow]:
    for name, engine in json.loads(engines.read_text()).items():
        for version in engine["versions"].values():
            yield _row(name, {**engine, **version}, engine, version)


def _row(name: str, merged: Mapping[str, Any], engine: Mapping[str, Any], version: Mapping[str, Any]) -> CatalogRow:
    constants = {**engine["constants"], "OPTION_ENTRYPOINT": merged["handler"], **version.get("constants", {})}
    variables = {**engine["variables"], **version.get("variables", {})}
    return CatalogRow(
        engine=name,
        server=merged["server"],
        repository=merged["repository"],
        tag=merged["tag"] or "",
        bodies=tuple(merged["bodies"]),
        tasks=merged.get("tasks", {}),
        handler=merged["handler"],
        constants={name: value for name, value in constants.items() if value is not None},
        variables={
            name: value if isinstance(value, str) else value["name"] for name, value in variables.items() if value
        },
    )
