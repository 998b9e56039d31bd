"""What the good deployment, on four GPUs, tells its container."""

from collections.abc import Mapping
from typing import Any

from llm_hosting.resolution import Resolution
from support.deployments.good_one import Changes, resolved

FOUR_GPUS = "ml.g6.12xlarge"


def told(model: Changes | None = None, hosting: Changes | None = None, **serving: Any) -> Resolution:
    """The resolution with these settings; `hosting` replaces the type with four GPUs."""
    return resolved(
        {"model": model or {}, "serving": serving, "hosting": hosting or {"instance_type": FOUR_GPUS}},
    )


def properties(model: Changes | None = None, hosting: Changes | None = None, **serving: Any) -> Mapping[str, str]:
    """The lines of the serving.properties, which must exist."""
    lines = told(model, hosting, **serving).properties
    assert lines is not None
    return lines
