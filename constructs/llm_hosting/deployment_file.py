"""Reads a deployment file: the only reader of YAML. Problems of shape and type become findings."""

import difflib
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, get_args

import yaml
from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from . import ACCOUNT_SETTINGS, STAGING_PREFIX
from .deployment import Deployment
from .finding import Finding

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
    """Read a deployment file.

    Returns the deployment and the problems. Where there are some, the deployment lacks the wrong settings, so that
    rules over the rest can still be judged; None = nothing usable remains.
    """
    name = path.stem
    is_ours = name == ACCOUNT_SETTINGS or name.startswith(STAGING_PREFIX)
    if not NAME.fullmatch(name) or len(name) > NAME_LENGTH or is_ours:
        fix = (
            "rename the file: lower-case letters, digits and single hyphens, a letter first, at most "
            f"{NAME_LENGTH} characters, not {ACCOUNT_SETTINGS} or {STAGING_PREFIX}..."
        )
        return None, [Finding("name", f"{name!r} can't be a stack's name", fix)]
    try:
        content, problems = _read(path.read_text(encoding="utf-8"))
    except OSError as error:
        return None, [Finding("file", f"can't be read: {error.strerror}")]
    except UnicodeDecodeError:
        return None, [Finding("file", "is not UTF-8 text", "save it as UTF-8")]
    except yaml.MarkedYAMLError as error:
        return None, [Finding("file", f"is not valid YAML: {error.problem}{_place(error)}")]
    except (yaml.YAMLError, RecursionError, ValueError, LookupError, AttributeError) as error:
        return None, [Finding("file", f"is not valid YAML: {' '.join(str(error).split())}")]
    if problems:
        return None, problems
    if not isinstance(content, dict):
        problem = "must hold a mapping with at least `model` and `hosting`"
        return None, [Finding("file", problem, "see deployments/gpt2.yaml")]
    return _validate(content)


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


def _read(text: str) -> tuple[Any, list[Finding]]:
    """The content, or the problems of its keys."""
    loader = yaml.SafeLoader(text)
    node = loader.get_single_node()
    problems = list(_wrong_keys(node, set()))
    return (None, problems) if problems or node is None else (loader.construct_document(node), [])


def _wrong_keys(node: yaml.Node | None, seen: set[int]) -> Iterator[Finding]:
    """YAML takes a key twice, keeps the last, and reads `on` as true; here both are problems.

    seen: ids of nodes that were looked at, since an alias may lead back to where it stands.
    """
    if not isinstance(node, yaml.CollectionNode) or id(node) in seen:
        return
    seen.add(id(node))
    if not isinstance(node, yaml.MappingNode):
        for item in node.value:
            yield from _wrong_keys(item, seen)
        return
    lines: dict[str, list[str]] = {}
    for key, value in node.value:
        yield from _wrong_keys(value, seen)
        if not isinstance(key, yaml.ScalarNode) or key.tag.endswith(":merge"):
            continue
        lines.setdefault(key.value, []).append(str(key.start_mark.line + 1))
        if not key.tag.endswith(":str"):
            problem = f"the key {key.value!r} in line {key.start_mark.line + 1} is not text for YAML"
            yield Finding("file", problem, "put it in quotes")
    for name, found in lines.items():
        if len(found) > 1:
            times = "twice" if len(found) == 2 else f"{len(found)} times"
            places = f"{', '.join(found[:-1])} and {found[-1]}"
            yield Finding("file", f"the key {name!r} stands {times}, in lines {places}", "keep one of them")


def _place(error: yaml.MarkedYAMLError) -> str:
    mark = error.problem_mark or error.context_mark
    return f" (line {mark.line + 1}, column {mark.column + 1})" if mark else ""


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
