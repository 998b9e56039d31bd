"""The file with the hardware of instance types, which the emulator reads: its environment has no catalog."""

import json
from pathlib import Path

from llm_hosting.catalog import layers


def write_instances(folder: Path) -> Path:
    """Write the instance types, with the rows of the project in use, to a file in this folder, and return it."""
    path = folder / "instances.json"
    path.write_text(json.dumps(layers.read("instances.json")["instances"]))
    return path
