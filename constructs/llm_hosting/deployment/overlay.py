"""An overlay is a deployment file that holds only the settings in which it differs from its base."""

from collections.abc import Iterable, Iterator
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from .finding import Finding
from .model import FREE_TEXTS, Deployment
from .paths import base_of
from .yaml_file import read

EXTENDS = "extends"  # the key that names the base


@dataclass(frozen=True)
class SetOverBase:
    """A setting of an overlay, with its values in the two deployments, defaults included."""

    field: str
    base: Any
    value: Any


@dataclass(frozen=True)
class Overlay:
    """An overlay and its base.

    base: the file that it extends.
    inherited: the content of the base.
    own: the content of the overlay without `extends`.
    """

    path: Path
    base: Path
    inherited: dict[str, Any]
    own: dict[str, Any]

    @cached_property
    def merged(self) -> dict[str, Any]:
        """The content of both files: mappings are merged key by key, other values replace, null means the default."""
        return deepcopy(_merged(self.inherited, self.own, Deployment))

    def located(self, findings: Iterable[Finding]) -> list[Finding]:
        """Return the findings with the file that holds each setting; a setting of neither file gets none."""
        return [each if each.file else replace(each, file=self._file_of(each.field)) for each in findings]

    def sets(self, base: dict[str, Any], merged: dict[str, Any]) -> Iterator[SetOverBase]:
        """Yield the settings of the overlay. base, merged: the two deployments with their defaults."""
        return _sets(self.own, base, merged, "")

    def _file_of(self, field: str) -> str:
        if _holds(self.own, field):
            return shown(self.path, self.base)
        return self.base.name if _holds(self.inherited, field) else ""


def shown(path: Path, base: Path) -> str:
    """Return the overlay's file as messages name it, `<base>/<overlay>.yaml`."""
    return f"{base.stem}/{path.name}"


def read_overlay(path: Path, base: Path) -> tuple[Overlay | None, list[Finding]]:
    """Read an overlay and its base; None = one of the two files, or `extends`, is wrong."""
    contents, problems = [], []
    for file, name in ((base, base.name), (path, shown(path, base))):
        content, found = read(file, FREE_TEXTS)
        if not found and not isinstance(content, dict):
            found = [Finding("file", "must hold a mapping", "see deployments/qwen3-4b/prod.yaml")]
        contents.append(content)
        problems += [replace(each, file=name) for each in found]
    if problems:
        return None, problems
    inherited, own = contents
    if problem := _extends_problem(path, base, inherited, own):
        return None, [problem]
    return Overlay(path, base, inherited, {key: value for key, value in own.items() if key != EXTENDS}), []


def misplaced(path: Path, extends: Any) -> Finding:
    """Return the problem of a file with `extends` that is not in the folder of a base."""
    if not isinstance(extends, str):
        return Finding(EXTENDS, f"{extends!r} is not the name of a deployment", "remove it")
    if extends == path.stem:
        return Finding(EXTENDS, f"{extends!r} is this file itself", "name another deployment, or remove it")
    if extends == path.absolute().parent.name:
        return Finding(EXTENDS, f"there is no {extends}.yaml beside the folder {extends}/", "add the base")
    problem = f"{extends!r} can't be the base of a file in this folder"
    return Finding(EXTENDS, problem, f"move the file into the folder {extends}/ beside {extends}.yaml, or remove it")


def _extends_problem(path: Path, base: Path, inherited: dict[str, Any], own: dict[str, Any]) -> Finding | None:
    if EXTENDS in inherited or base_of(base):
        problem = f"{base.stem!r} extends another deployment itself"
        return Finding(EXTENDS, problem, "extend a deployment that is not an overlay: there is only one level")
    if EXTENDS not in own:
        fix = f"write `extends: {base.stem}`, or move the file out of the folder {base.stem}/"
        return Finding(EXTENDS, f"is missing in an overlay of {base.name}", fix)
    if own[EXTENDS] != base.stem:
        problem = f"{own[EXTENDS]!r} is not the base of this file"
        return Finding(EXTENDS, problem, f"write `extends: {base.stem}`, the name of its folder, or move the file")
    return None


def _merged(base: dict[str, Any], own: dict[str, Any], section: type[BaseModel] | None) -> dict[str, Any]:
    """Merge two mappings. section: their model; None = their keys are the user's, as in `serving.environment`."""
    content = dict(base)
    for key, value in own.items():
        field = section.model_fields.get(key) if section else None
        if isinstance(value, dict) and field:
            below = content.get(key)
            content[key] = _merged(below if isinstance(below, dict) else {}, value, _section(field))
        elif value is None and (section is None or (field and type(None) not in get_args(field.annotation))):
            content.pop(key, None)
        else:  # null is kept if the setting takes it: it is the default of all but `alarms.idle_in_hours`
            content[key] = value
    return content


def _section(field: FieldInfo | None) -> type[BaseModel] | None:
    kinds = (field.annotation, *get_args(field.annotation)) if field else ()
    return next((each for each in kinds if isinstance(each, type) and issubclass(each, BaseModel)), None)


def _holds(content: Any, field: str) -> bool:
    """Whether the content has the setting, a part of it, or a value in place of a section around it."""
    for part in field.split("."):
        if not isinstance(content, dict):
            return True
        if part not in content:
            return False
        content = content[part]
    return True


def _sets(own: dict[str, Any], base: dict[str, Any], merged: dict[str, Any], path: str) -> Iterator[SetOverBase]:
    for key, value in own.items():
        before, after = base.get(key), merged.get(key)
        if not isinstance(before, dict) and not isinstance(after, dict):
            yield SetOverBase(f"{path}{key}", before, after)
            continue
        before, after = before or {}, after or {}
        if not isinstance(value, dict):  # null for a whole section: the settings that it changes
            value = {each: None for each in before | after if before.get(each) != after.get(each)}
        yield from _sets(value, before, after, f"{path}{key}.")
