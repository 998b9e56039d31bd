"""Generates deployment files: for a model of the Hub, or for a written deployment on other instance types."""

import json
import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from llm_hosting.catalog.models import model_shape
from llm_hosting.deployment.file import NAME_LENGTH, DeploymentError, parse
from llm_hosting.deployment.lock import ModelLock
from llm_hosting.deployment.lock_file import locked
from llm_hosting.deployment.paths import stack_name
from llm_hosting.deployment.settings.model import Model


def is_model_id(name: str, folder: Path) -> bool:
    """Whether a name that is not a file may be a model's id: `owner/name`, or an id in the catalog.

    folder: the folder of deployments, whose overlays are also named `<base>/<overlay>`.
    """
    try:
        Model(id=name)
    except ValidationError:
        return False
    is_meant_as_file = (folder / f"{name.partition('/')[0]}.yaml").is_file() or Path(f"{name}.yaml").is_file()
    is_named = "/" in name or model_shape(name) is not None
    return is_named and not is_meant_as_file and not name.endswith((".yaml", ".yml"))


def of_model(model_id: str, types: Sequence[str], engine: str | None, folder: Path) -> Path:
    """Write a deployment file for this model into the folder. EC2's instance types give hosting.mode ec2. engine: None
    = the default.
    """
    name = re.sub(r"[^a-z0-9]+", "-", model_id.rpartition("/")[2].lower()).strip("-")
    hosting: dict[str, Any] = {"instance_type": list(types)}
    if not types[0].startswith("ml."):
        hosting, engine = {**hosting, "mode": "ec2"}, engine or "transformers"
    content = {"model": {"id": model_id}, "serving": {"engine": engine} if engine else {}, "hosting": hosting}
    return _write(content, f"{'' if name[:1].isalpha() else 'model-'}{name}"[:NAME_LENGTH].strip("-"), folder)


def on_types(path: Path, types: Sequence[str], engine: str | None, folder: Path) -> tuple[Path, ModelLock | None]:
    """Write the deployment for these instance types, if any, with its lock and its measured figures.

    Raises DeploymentError.
    """
    deployment, problems, _ = parse(path)
    if deployment and not problems:
        deployment, problems = locked(deployment, path)
    if deployment is None or problems:
        raise DeploymentError(path, [f"{problem.place}: {problem.message}" for problem in problems])
    content = deployment.model_dump(mode="json", exclude_unset=True)
    if types:
        content["hosting"]["instance_type"] = list(types)
    if engine and engine != deployment.serving.engine:
        content.setdefault("serving", {})["engine"] = engine
        content["serving"].pop("version", None)  # each engine has its own
    from slipway.measuring.figures.measured import measured_path  # a check of a file does without

    written = _write(content, stack_name(path), folder)
    if (figures := measured_path(path)).is_file():
        shutil.copy(figures, measured_path(written))
    return written, deployment.lock


def _write(content: dict[str, Any], name: str, folder: Path) -> Path:
    path = folder / f"{name}.yaml"
    path.write_text(json.dumps(content))
    return path
