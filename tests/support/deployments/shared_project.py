"""A project with a shared endpoint and deployments on it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

Content = Mapping[str, Any]

ENDPOINT: Content = {"instance_type": "ml.g6.12xlarge", "instance_count": {"min": 0, "max": 1}}


def on_gpus(accelerators: int = 2, **hosting: Any) -> dict[str, Any]:
    """Return a deployment whose copies take so many of the four accelerators of `endpoints/gpus.yaml`."""
    return {
        "model": {"id": "Qwen/Qwen3-0.6B"},
        "serving": {"tensor_parallel_degree": accelerators},
        "hosting": {"endpoint": "shared/gpus", **hosting},
    }


def write_project(folder: Path, deployments: Mapping[str, Content], endpoint: Content = ENDPOINT) -> Path:
    """Write `endpoints/gpus.yaml` and these deployments, by name; an overlay is named `<base>/<overlay>`."""
    (folder / "endpoints").mkdir(parents=True)
    (folder / "cdk.json").write_text("{}")
    (folder / "endpoints" / "gpus.yaml").write_text(yaml.safe_dump(dict(endpoint)))
    for name, content in deployments.items():
        path = folder / "deployments" / f"{name}.yaml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(yaml.safe_dump(dict(content)))
    return folder
