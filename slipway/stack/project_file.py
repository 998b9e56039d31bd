"""Finds the file of the project that a stack was deployed from."""

from pathlib import Path

from llm_hosting.deployment.file import DeploymentError
from llm_hosting.deployment.paths import find, names, stack_name
from llm_hosting.preflight.validation import load
from llm_hosting.resolution import Resolution
from llm_hosting.sources import handler_names


def file_of_stack(stack: str, model_id: str, root: Path) -> tuple[Path, Resolution] | None:
    """Return the project's file of this stack. None: it has none, or it deploys another model now."""
    folder = root / "deployments"
    path = next((path for name in names(folder) if stack_name(path := find(name, folder)) == stack), None)
    try:
        resolution = load(path, handler_names(root))[0] if path else None
    except DeploymentError:
        return None
    if path is None or resolution is None or resolution.deployment.model.id != model_id:
        return None
    return path, resolution
