"""Deployments that nobody wrote a file for: a model of the Hub, or a written deployment on other instance types."""

import json
import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from llm_hosting.deployment_file import NAME_LENGTH, DeploymentError, parse
from llm_hosting.deployment_paths import base_of, stack_name
from llm_hosting.locked_deployment import lock_path


def is_model_id(name: str) -> bool:
    """Whether a name that is no file may be `owner/name` on the Hub."""
    return re.fullmatch(r"[\w.-]+/[\w.-]+", name) is not None and not name.endswith((".yaml", ".yml"))


def of_model(model_id: str, types: Sequence[str], engine: str | None, folder: Path) -> Path:
    """A deployment file of this model in the folder; engine: None = the default."""
    name = re.sub(r"[^a-z0-9]+", "-", model_id.rpartition("/")[2].lower()).strip("-")
    serving = {"engine": engine} if engine else {}
    content = {"model": {"id": model_id}, "serving": serving, "hosting": {"instance_type": list(types)}}
    return _write(content, f"{'' if name[:1].isalpha() else 'model-'}{name}"[:NAME_LENGTH].strip("-"), folder)


def on_types(path: Path, types: Sequence[str], engine: str | None, folder: Path) -> Path:
    """The deployment of a file, on these instance types if any, with its lock. Raises DeploymentError."""
    deployment, problems = parse(path)
    if deployment is None or problems:
        raise DeploymentError(path, [f"{problem.place}: {problem.message}" for problem in problems])
    content = deployment.model_dump(mode="json", exclude_unset=True)
    if types:
        content["hosting"]["instance_type"] = list(types)
    if engine:
        content.setdefault("serving", {})["engine"] = engine
    base = base_of(path)
    lock = next((each for each in (lock_path(path), lock_path(base or path)) if each.is_file()), None)
    written = _write(content, stack_name(path), folder)
    if lock:
        shutil.copy(lock, lock_path(written))
    return written


def _write(content: dict[str, Any], name: str, folder: Path) -> Path:
    path = folder / f"{name}.yaml"
    path.write_text(json.dumps(content))
    return path
