"""The file with the catalog's engines, which model servers read: their environment has no packages of the catalog."""

import json
from pathlib import Path

from llm_hosting.catalog import layers


def write_engines(folder: Path) -> Path:
    """Write the engines, with the rows of the project in use, to a file in this folder, and return it."""
    path = folder / "engines.json"
    path.write_text(json.dumps(layers.engines()))
    return path
