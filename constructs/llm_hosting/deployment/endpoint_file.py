"""Reads an endpoint file, and writes its settings into the deployments on the endpoint."""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from .. import ENDPOINT_PREFIX
from ..project import project_folder
from .finding import Finding
from .nearest import nearest
from .problems import SettingProblems, errors_of
from .settings.shared_endpoint import FOLDER, OF_INSTANCES, Shared, SharedEndpoint
from .yaml_file import read

_NAME = re.compile(r"[a-z](-?[a-z0-9])*")
_LENGTH = 37  # SageMaker takes 63: `slipway-endpoint-` comes before the name, and 9 characters after it
_OF_DEPLOYMENT = re.compile(r"shared/(.+)")
_OF_COMMAND = re.compile(rf"(?:{FOLDER}/|{ENDPOINT_PREFIX})([^/]+)")


def find_endpoint(name: str, root: Path) -> Path | None:
    """Return the endpoint file that a name or a path means; None = it means something else.

    name: `endpoints/<name>`, the path of the file, or the name of the stack. root: the folder of the project.
    """
    own, root = _OF_COMMAND.fullmatch(name), Path(os.path.abspath(root))
    for file in ([root / FOLDER / f"{own[1]}.yaml"] if own else []) + [Path(os.path.abspath(name))]:
        if file.parent == root / FOLDER and os.path.isfile(file):
            return file
    return None


def endpoint_stack(name: str, root: Path) -> str:
    """Return the name of the stack of an endpoint file; the name itself if it means something else."""
    file = find_endpoint(name, root)
    return f"{ENDPOINT_PREFIX}{file.stem}" if file else name


def read_endpoint(path: Path) -> tuple[SharedEndpoint | None, list[Finding]]:
    """Return the endpoint that a file describes, or None and the problems of the file."""
    if not _NAME.fullmatch(path.stem) or len(path.stem) > _LENGTH:
        fix = f"rename the file: lower-case letters, digits and single hyphens, a letter first, at most {_LENGTH}"
        return None, [Finding("name", f"{path.stem!r} can't be an endpoint's name", f"{fix} characters")]
    content, problems = read(path)
    if problems:
        return None, problems
    if not isinstance(content, dict):
        return None, [Finding("file", "must hold a mapping with at least `instance_type`", "add it")]
    try:
        return SharedEndpoint.model_validate(content), []
    except ValidationError as error:
        return None, [SettingProblems(SharedEndpoint).finding(each) for each in errors_of(error)]


def shared_by(content: dict[Any, Any], path: Path) -> tuple[Shared | None, list[Finding]]:
    """Return the shared endpoint that a deployment's content names, and what contradicts the endpoint's file.

    Writes the settings of the endpoint's file into the content. None = the content names none, or there are problems.
    """
    hosting = content.get("hosting")
    if not isinstance(hosting, dict) or not (named := _OF_DEPLOYMENT.fullmatch(str(hosting.get("endpoint")))):
        return None, []
    folder, name = project_folder(str(path)) / FOLDER, named[1]
    if not (file := folder / f"{name}.yaml").is_file():
        known = [f"shared/{each.stem}" for each in folder.glob("*.yaml")]
        problem = f"'shared/{name}' is the file {FOLDER}/{name}.yaml, and there is none"
        return None, [Finding("hosting.endpoint", problem, f"write it, or use {nearest(f'shared/{name}', known)}")]
    endpoint, problems = read_endpoint(file)
    if endpoint is None:
        reasons = " ".join(f"{each.field}: {each.message}" for each in problems)
        return None, [Finding("hosting.endpoint", f"{FOLDER}/{name}.yaml is refused: {reasons.rstrip('.')}")]
    return Shared(name, endpoint), list(_written_into(content, hosting, endpoint, f"{FOLDER}/{name}.yaml"))


def _written_into(
    content: dict[Any, Any], hosting: dict[Any, Any], endpoint: SharedEndpoint, file: str
) -> Iterator[Finding]:
    region = ["region"] if endpoint.region else []
    for section, settings, names in (("hosting.", hosting, OF_INSTANCES), ("", content, region)):
        for name in names:
            own, value = settings.get(name), getattr(endpoint, name)
            settings[name] = value
            if own not in (None, value):
                says = "leaves it out" if value is None else f"says {value!r}"
                problem = f"{own!r} contradicts {file}, the file of the shared endpoint, which {says}"
                yield Finding(f"{section}{name}", problem, "leave it out here")
