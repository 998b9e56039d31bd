"""Serving engines: their container images by version, and the request bodies and parameter ranges they take."""

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class EngineVersion:
    """One published image. `cuda` is the CUDA version in the image; `bodies` are the request shapes it takes."""

    label: str
    tag: str
    cuda: float
    bodies: tuple[str, ...]


@dataclass(frozen=True)
class Engine:
    """`repository` is in AWS's image account; `parameters` holds the ranges that the engine itself enforces."""

    name: str
    repository: str
    default_version: str
    parameters: dict[str, dict[str, float]]
    versions: dict[str, EngineVersion]


@cache
def engine(name: str) -> Engine:
    """The engine of that name.

    Raises KeyError for a name that `serving.engine` would refuse.
    """
    data: dict[str, Any] = json.loads(Path(__file__).with_name("engines.json").read_text())[name]
    versions = {
        label: EngineVersion(label, row["tag"], row["cuda"], tuple(row.get("bodies", data["bodies"])))
        for label, row in data["versions"].items()
    }
    return Engine(name, data["repository"], data["default_version"], data["parameters"], versions)
