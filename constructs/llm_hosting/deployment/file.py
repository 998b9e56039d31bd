"""Reads a deployment file, and the base of an overlay. Problems of shape and type become findings."""

import re
from collections.abc import Iterator, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ValidationError

from .. import ACCOUNT_SETTINGS, ENDPOINT_PREFIX, FLEET_PREFIX, STAGING_PREFIX
from .endpoint_file import shared_by
from .finding import Finding
from .model import FREE_TEXTS, Deployment
from .overlay import EXTENDS, Overlay, SetOverBase, misplaced, read_overlay
from .paths import base_of, same_stack, stack_name
from .problems import Location, SettingProblems, errors_of
from .yaml_file import read

NAME = re.compile(r"[a-z](-?[a-z0-9])*")  # SageMaker lower-cases names in ARNs, and IAM compares case
NAME_LENGTH = 50  # the endpoint's name adds 9 characters and may have 63
ADAPTER_NAME_LENGTH = 53  # with the name of the deployment: the component's name adds 10
REQUIRED = (("model", "id"), ("hosting", "instance_type"))
PLACEHOLDER = "placeholder"  # in place of a required setting that is missing or wrong; no catalog knows it
# If the first setting is refused, nothing can be said about the others.
DEPENDANTS: dict[Location, tuple[Location, ...]] = {
    ("api", "auth"): (("api", "quota"),),
    ("hosting", "mode"): (("hosting", "instance_count", "min"), ("jobs", "invocation_timeout_in_seconds")),
    ("jobs", "invocation_timeout_in_seconds"): (("jobs", "deadline_in_seconds"),),
    ("model", "weights"): (("model", "weights_kms_key_arn"), ("hosting", "network_isolation")),
    ("serving", "engine"): (
        ("serving", "version"),
        ("serving", "handler"),
        ("model", "dtype"),
        ("model", "quantization"),
    ),
}


class DeploymentError(Exception):
    """A deployment that can't be used; `problems` holds one sentence per problem."""

    def __init__(self, subject: Path | str, problems: Sequence[str]) -> None:
        self.problems = list(problems)
        count = "1 problem" if len(self.problems) == 1 else f"{len(self.problems)} problems"
        super().__init__(f"{subject} is refused: {count}\n" + "\n".join(f"  - {problem}" for problem in self.problems))


class Parsed(NamedTuple):
    """A deployment file that was read once, with its base if it is an overlay.

    deployment: lacks the refused settings if there are problems, so that rules can still judge the rest; None = nothing
    usable remains.
    overlay: None = the file is not an overlay, or can't be read as one.
    """

    deployment: Deployment | None
    problems: list[Finding]
    overlay: Overlay | None = None


def parse(path: Path) -> Parsed:
    """Read a deployment file; an overlay is read with its base."""
    base = base_of(path)
    problem = _name_problem(path, base)
    if problem:
        return Parsed(None, [problem])
    if base:
        overlay, problems = read_overlay(path, base)
        if overlay is None:
            return Parsed(None, problems)
        deployment, problems = _placed(overlay.merged, path)
        problems += long_adapter_names(deployment, stack_name(path))
        return Parsed(deployment, overlay.located(problems), overlay)
    content, problems = read(path, FREE_TEXTS)
    if problems:
        return Parsed(None, problems)
    if not isinstance(content, dict):
        problem = Finding(
            "file", "must hold a mapping with at least `model` and `hosting`", "see deployments/gpt2.yaml"
        )
        return Parsed(None, [problem])
    if EXTENDS in content:
        return Parsed(None, [misplaced(path, content[EXTENDS])])
    deployment, problems = _placed(content, path)
    return Parsed(deployment, [*problems, *long_adapter_names(deployment, stack_name(path))])


def long_adapter_names(deployment: Deployment | None, name: str) -> Iterator[Finding]:
    """Yield adapters whose components would have names of more than the 63 characters that SageMaker takes.

    name: of the deployment's service.
    """
    adapters = deployment.model.adapters if deployment and deployment.has_adapter_components else {}
    for adapter in adapters:
        if len(name) + len(adapter) > ADAPTER_NAME_LENGTH:
            problem = f"makes a component's name of {len(name) + len(adapter) + 10} characters, and SageMaker takes 63"
            room = max(ADAPTER_NAME_LENGTH - len(name), 0)
            yield Finding(f"model.adapters.{adapter}", problem, f"use a name of at most {room} characters")


def sets_over_base(overlay: Overlay, deployment: Deployment) -> list[SetOverBase]:
    """Return the overlay's settings with their values in the base and in `deployment`, the overlay's own."""
    base, _ = _validate(deepcopy(overlay.inherited))
    return list(overlay.sets(base.model_dump() if base else {}, deployment.model_dump()))


def _name_problem(path: Path, base: Path | None) -> Finding | None:
    name = stack_name(path)
    is_ours = name == ACCOUNT_SETTINGS or name.startswith((STAGING_PREFIX, FLEET_PREFIX, ENDPOINT_PREFIX))
    if not NAME.fullmatch(name) or len(name) > NAME_LENGTH or is_ours:
        fix = (
            "rename the file: lower-case letters, digits and single hyphens, a letter first, at most "
            f"{NAME_LENGTH} characters{' together with those of the base' if base else ''}, not {ACCOUNT_SETTINGS}, "
            f"{STAGING_PREFIX}..., {FLEET_PREFIX}... or {ENDPOINT_PREFIX}..."
        )
        return Finding("name", f"{name!r} can't be a stack's name", fix)
    if base and (other := same_stack(path, base.parent)):
        problem = f"{name!r} is also the stack of {other.relative_to(base.parent)}"
        return Finding("name", problem, "rename one of the two files")
    return None


def _placed(content: dict[Any, Any], path: Path) -> tuple[Deployment | None, list[Finding]]:
    """Validate the content of a file, with the settings of the shared endpoint that it names."""
    shared, contradictions = shared_by(content, path)
    if contradictions and shared is None:
        return None, contradictions
    deployment, problems = _validate(content)
    return deployment and deployment.on(shared), [*contradictions, *problems]


def _validate(content: dict[Any, Any]) -> tuple[Deployment | None, list[Finding]]:
    try:
        return Deployment.model_validate(content), []
    except ValidationError as error:
        errors = errors_of(error)
    problems = [SettingProblems(Deployment).finding(each) for each in errors]
    for each in errors:
        # A section below the first level is removed as a whole if it lacks a required setting.
        is_inner = each["type"] == "missing" and len(each["loc"]) > 1 and each["loc"] not in REQUIRED
        for location in ((each["loc"][:-1] if is_inner else each["loc"]), *DEPENDANTS.get(each["loc"], ())):
            _remove(content, location)
    for section, key in REQUIRED:
        content.setdefault(section, {}).setdefault(key, PLACEHOLDER)
    try:
        return Deployment.model_validate(content), problems
    except ValidationError:
        return None, problems


def _remove(content: Any, location: Location) -> None:
    path = [part for part in location if part != "[key]"]
    for part in path[:-1]:
        content = content.get(part) if isinstance(content, dict) else None
    if isinstance(content, dict):
        content.pop(path[-1], None)
