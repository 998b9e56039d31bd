"""Published answer times by model, engine and instance type."""

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Measurement:
    """Seconds for `batch` answers at once, each of `tokens` tokens; `source` names the publication."""

    batch: int
    tokens: int
    p50_in_seconds: float
    p99_in_seconds: float
    load_in_seconds: float
    source: str


@cache
def _data() -> dict[str, Any]:
    data: dict[str, Any] = json.loads(Path(__file__).with_name("measurements.json").read_text())
    return data


def measured_answer(model_id: str, engine: str, instance_type: str) -> Measurement | None:
    """Return the published figures of exactly this set-up; None = there are none."""
    wanted = {"model": model_id, "engine": engine, "instance": instance_type}
    for row in _data()["answers"]:
        if {name: row[name] for name in wanted} == wanted:
            figures = {name: value for name, value in row.items() if name not in wanted}
            return Measurement(**figures)
    return None
