"""Reads a deployment file, an overlay with its base. Problems of shape and type become findings."""

import difflib
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from . import ACCOUNT_SETTINGS, STAGING_PREFIX
from .deployment import Deployment
from .deployment_paths import base_of, same_stack, stack_name
from .finding import Finding
from .overlay import EXTENDS, Overlay, SetOverBase, misplaced, read_overlay
from .yaml_file import read

Location = tuple[int | str, ...]

NAME = re.compile(r"[a-z](-?[a-z0-9])*")  # SageMaker lower-cases names in ARNs, and IAM tells cases apart
NAME_LENGTH = 50  # the endpoint's name adds 9 characters and may have 63
REQUIRED = (("model", "id"), ("hosting", "instance_type"))
PLACEHOLDER = "placeholder"  # stands for a required setting that is missing or wrong; no rule takes it for a known one
# With the first setting refused, nothing can be said about the others.
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
SHOWN = 80  # characters of a wrong value that are repeated
_SIZES = {
    "string_too_short": ("min_length", "at least"),
    "string_too_long": ("max_length", "at most"),
    "too_short": ("min_length", "at least"),
    "too_long": ("max_length", "at most"),
}


class DeploymentError(Exception):
    """A deployment that can't be used; `problems` holds one sentence per problem."""

    def __init__(self, path: Path, problems: Sequence[str]) -> None:
        self.problems = list(problems)
        count = "1 problem" if len(self.problems) == 1 else f"{len(self.problems)} problems"
        super().__init__(f"{path} is refused: {count}\n" + "\n".join(f"  - {problem}" for problem in self.problems))


def parse(path: Path) -> tuple[Deployment | None, list[Finding]]:
    """Read a deployment file; an overlay is read with its base.

    Returns the deployment and the problems. Where there are some, the deployment lacks the wrong settings, so that
    rules over the rest can still be judged; None = nothing usable remains.
    """
    base = base_of(path)
    problem = _name_problem(path, base)
    if problem:
        return None, [problem]
    if base:
        overlay, problems = read_overlay(path, base)
        if overlay is None:
            return None, problems
        deployment, problems = _validate(overlay.merged)
        return deployment, overlay.located(problems)
    content, problems = read(path)
    if problems:
        return None, problems
    if not isinstance(content, dict):
        problem = Finding(
            "file", "must hold a mapping with at least `model` and `hosting`", "see deployments/gpt2.yaml"
        )
        return None, [problem]
    if EXTENDS in content:
        return None, [misplaced(path, content[EXTENDS])]
    return _validate(content)


def overlay_of(path: Path) -> Overlay | None:
    """What the file sets over its base; None = it is no overlay, or can't be read as one."""
    base = base_of(path)
    return read_overlay(path, base)[0] if base else None


def sets_over_base(overlay: Overlay, deployment: Deployment) -> list[SetOverBase]:
    """The settings of the overlay, resolved: the base's values and those of `deployment`, which was read from it."""
    base, _ = parse(overlay.base)
    return list(overlay.sets(base.model_dump() if base else {}, deployment.model_dump()))


def _name_problem(path: Path, base: Path | None) -> Finding | None:
    name = stack_name(path)
    is_ours = name == ACCOUNT_SETTINGS or name.startswith(STAGING_PREFIX)
    if not NAME.fullmatch(name) or len(name) > NAME_LENGTH or is_ours:
        fix = (
            "rename the file: lower-case letters, digits and single hyphens, a letter first, at most "
            f"{NAME_LENGTH} characters{', those of the base included' if base else ''}, not {ACCOUNT_SETTINGS} or "
            f"{STAGING_PREFIX}..."
        )
        return Finding("name", f"{name!r} can't be a stack's name", fix)
    if base and (other := same_stack(path, base.parent)):
        problem = f"{name!r} is the stack of {other.relative_to(base.parent)} too"
        return Finding("name", problem, "rename one of the two files")
    return None


def _validate(content: dict[Any, Any]) -> tuple[Deployment | None, list[Finding]]:
    try:
        return Deployment.model_validate(content), []
    except ValidationError as error:
        errors = _one_per_field(error.errors(include_url=False))
    problems = [Finding(_field(each["loc"]), *_problem_and_fix(each)) for each in errors]
    for each in errors:
        # A section below the first level that lacks a setting is no use without it.
        is_inner = each["type"] == "missing" and len(each["loc"]) > 1 and each["loc"] not in REQUIRED
        for location in ((each["loc"][:-1] if is_inner else each["loc"]), *DEPENDANTS.get(each["loc"], ())):
            _remove(content, location)
    for section, key in REQUIRED:
        content.setdefault(section, {}).setdefault(key, PLACEHOLDER)
    try:
        return Deployment.model_validate(content), problems
    except ValidationError:
        return None, problems


def _one_per_field(errors: list[ErrorDetails]) -> list[ErrorDetails]:
    """Of a field that may be a text or a list, the errors of the kind that was given."""
    kept: dict[Location, ErrorDetails] = {}
    for each in errors:
        of_list = any(str(part).startswith("list[") for part in each["loc"])
        location = tuple(part for part in each["loc"] if not str(part).startswith(("list[", "constrained-")))
        if location not in kept or (of_list and each["type"] != "list_type"):
            kept[location[:2] if of_list else location] = {**each, "loc": location[:2] if of_list else location}
    return list(kept.values())


def _field(location: Location) -> str:
    return ".".join(str(part) for part in location if part != "[key]")


def _problem_and_fix(error: ErrorDetails) -> tuple[str, str]:
    kind, location = error["type"], error["loc"]
    value = "the value" if _may_be_secret(error) else repr(error["input"])[:SHOWN]
    refused = f"{value} is not allowed"
    if kind == "extra_forbidden":
        return _unknown_key(location)
    if kind == "missing":
        return "is missing", f"set it: {_description(location)}"
    if kind == "literal_error":
        return refused, f"use {error['ctx']['expected']}"
    if location[-1] == "[key]" and "silenced" in location:
        return "is no id of a rule", "use lower-case letters, digits and hyphens"
    if location[-1] == "[key]":
        return "is no name of an environment variable", "use letters, digits and underscores, a letter first"
    if kind in _SIZES:
        bound, least_or_most = _SIZES[kind]
        count = error["ctx"][bound]
        thing = "character" if kind.startswith("string") else "item"
        return refused, f"use {least_or_most} {count:,} {thing}{'s' if count > 1 else ''}"
    if kind in ("model_type", "dict_type"):
        return refused, f"put settings below it: {_known(_model_of_field(location))}"
    if kind == "string_type" and not isinstance(error["input"], list | dict | None):
        return f"{value} is not text for YAML", "put it in quotes"
    if kind == "string_pattern_mismatch":
        return f"{value} does not fit", f"use this form: {_description(location)}"
    return refused, f"use {_range(location) or error['msg'].removeprefix('Input should be ')}"


def _may_be_secret(error: ErrorDetails) -> bool:
    """A refused value is printed, and often logged, unless it may be a token in the wrong place."""
    location, is_text = error["loc"], isinstance(error["input"], str)
    return is_text and (location[:2] == ("serving", "environment") or str(location[-1]).endswith("_secret_arn"))


def _unknown_key(location: Location) -> tuple[str, str]:
    section = _section(location)
    nearest = difflib.get_close_matches(str(location[-1]), section.model_fields, n=1, cutoff=0.5)
    rename = f"rename it to `{nearest[0]}`, or " if nearest else ""
    return "is not a known key", f"{rename}use one of {_known(section)}"


def _known(section: type[BaseModel] | None) -> str:
    return ", ".join(section.model_fields) if section else "NAME: value"


def _description(location: Location) -> str:
    field = _section(location).model_fields.get(str(location[-1]))
    section = _model_of_field(location)
    return ((field and field.description) or (section and section.__doc__) or "").rstrip(".")


def _range(location: Location) -> str:
    """For example "a whole number, 60 or more, 3600 or less"; empty for a field without limits."""
    field = _section(location).model_fields.get(str(location[-1]))
    words = {"ge": "{} or more", "gt": "more than {}", "le": "{} or less", "lt": "less than {}"}
    limits = [
        word.format(getattr(limit, name))
        for limit in (field.metadata if field else [])
        for name, word in words.items()
        if hasattr(limit, name)
    ]
    kind = "a whole number" if field and int in (field.annotation, *get_args(field.annotation)) else "a number"
    return ", ".join([kind, *limits]) if limits else ""


def _section(location: Location) -> type[BaseModel]:
    """The model that holds the field."""
    section: type[BaseModel] = Deployment
    for depth in range(1, len(location)):
        section = _model_of_field(location[:depth]) or section
    return section


def _model_of_field(location: Location) -> type[BaseModel] | None:
    """The model of a field that is a section itself."""
    field = _section(location).model_fields.get(str(location[-1]))
    for candidate in (field.annotation, *get_args(field.annotation)) if field else ():
        if isinstance(candidate, type) and issubclass(candidate, BaseModel):
            return candidate
    return None


def _remove(content: Any, location: Location) -> None:
    path = [part for part in location if part != "[key]"]
    for part in path[:-1]:
        content = content.get(part) if isinstance(content, dict) else None
    if isinstance(content, dict):
        content.pop(path[-1], None)
