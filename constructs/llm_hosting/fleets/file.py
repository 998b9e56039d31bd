"""Reads a fleet file, and the deployment that it names."""

import re
from pathlib import Path

from pydantic import ValidationError

from .. import ACCOUNT_SETTINGS, FLEET_PREFIX, STAGING_PREFIX
from ..deployment.file import DeploymentError
from ..deployment.finding import Finding
from ..deployment.paths import UnknownDeploymentError, find, stack_name
from ..deployment.problems import SettingProblems, errors_of
from ..deployment.yaml_file import read
from ..preflight.validation import load
from ..resolution import Resolution
from ..sources import handler_names
from .fleet import Fleet

_NAME, _LENGTH = (
    re.compile(r"[a-z](-?[a-z0-9])*"),
    50,
)  # a stack's name is StackSet-<name>-account-settings-<36 characters>


def find_fleet(name: str, folder: Path) -> Path:
    """Return the file `<folder>/<name>.yaml`, or the file with the path `name`. Raises UnknownDeploymentError."""
    for path in (folder / f"{name}.yaml", Path(name)):
        if name and path.is_file():
            return path
    known = ", ".join(sorted(path.stem for path in folder.glob("*.yaml"))) or "none yet"
    problem = f"There is no fleet {name!r} in {folder.name}/ ({known})" if name else "No fleet is named"
    raise UnknownDeploymentError(f"{problem}; use a name, or the path of a YAML file.")


def parse_fleet(path: Path) -> tuple[Fleet | None, list[Finding]]:
    """Return the fleet, or None and its problems of shape and type."""
    prefixes = (ACCOUNT_SETTINGS, STAGING_PREFIX, FLEET_PREFIX)
    if not _NAME.fullmatch(path.stem) or len(path.stem) > _LENGTH or path.stem.startswith(prefixes):
        fix = (
            "rename the file: lower-case letters, digits and single hyphens, a letter first, at most "
            f"{_LENGTH} characters, not {', '.join(prefixes)}..."
        )
        return None, [Finding("name", f"{path.stem!r} can't be a stack set's name", fix)]
    content, problems = read(path, ("parameters",))
    if problems:
        return None, problems
    if not isinstance(content, dict):
        problem = "must hold a mapping with at least `deployment` and `targets`"
        return None, [Finding("file", problem, "see fleets/qwen3-4b.yaml")]
    try:
        return Fleet.model_validate(content), []
    except ValidationError as error:
        return None, [SettingProblems(Fleet).finding(each) for each in errors_of(error)]


def load_fleet(path: Path, root: Path) -> tuple[Fleet, str, Resolution]:
    """Return the fleet, and the name and the resolution of its deployment.

    root: the folder with `deployments/` and `model_src/`. Raises DeploymentError with all problems of the file.
    """
    fleet, problems = parse_fleet(path)
    if fleet is None:
        raise DeploymentError(path, [f"{each.field}: {each.message}" for each in problems])
    try:
        deployment = find(fleet.deployment, root / "deployments")
    except UnknownDeploymentError as error:
        raise DeploymentError(path, [f"deployment: {error}"]) from None
    resolution, _ = load(deployment, handler_names(root))
    if resolution.deployment.shared:
        problem = f"deployment: {fleet.deployment} runs on a shared endpoint, which a fleet does not deploy"
        raise DeploymentError(path, [f"{problem}; name one without hosting.endpoint."])
    return fleet, stack_name(deployment), resolution
