"""What AWS publishes and the catalog leaves out on purpose, each with the reason."""

import json
from collections.abc import Mapping
from fnmatch import fnmatch
from functools import cache
from pathlib import Path
from typing import Any


def left_out_types() -> Mapping[str, str]:
    """Return the reasons by instance type of endpoints."""
    reasons: Mapping[str, str] = _data()["instance_types"]
    return reasons


def why_image_is_left_out(image: str) -> str | None:
    """Return the reason for `repository:tag`; None = it is not left out."""
    return next((reason for pattern, reason in _data()["images"].items() if fnmatch(image, pattern)), None)


@cache
def _data() -> dict[str, Any]:
    data: dict[str, Any] = json.loads(Path(__file__).with_name("left_out.json").read_text())
    return data
