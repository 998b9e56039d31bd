"""Where the container's model comes from: the Hub, by name, or the weights copied to /opt/ml/model."""

from collections.abc import Mapping
from pathlib import Path


def has_weights(environment: Mapping[str, str]) -> bool:
    """Whether the deployment's own weights lie where /opt/ml/model would be."""
    folder = environment.get("SLIPWAY_LOCAL_MODEL_DIR")
    return folder is not None and Path(folder).is_dir() and any(Path(folder).iterdir())
