"""The edits of tests/edits.yaml, and stacks of a deployment before and after one."""

import json
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import yaml

from llm_hosting.preflight.validation import validate
from local_cloud.assembly import Stack
from support.deployments.good_one import Changes, resolved
from support.repository import ROOT
from support.templates.portable_templates import synthesized
from support.templates.template_parts import Template


class Edit(NamedTuple):
    """An edit of a deployment file, with the result that `diff` or `check` must give.

    `before`, `after`: settings that replace those of the good deployment.
    `means`: the kinds of changes that `diff` reports; None if `check` refuses the edit.
    `refused`: the rules of `check` that refuse the edit; None if `check` accepts it.
    """

    name: str
    before: Changes
    after: Changes
    means: set[str] | None
    refused: set[str] | None


def _read() -> list[Edit]:
    bases = yaml.safe_load((ROOT / "tests" / "edits.yaml").read_text())
    return [_edit(base["settings"], each) for base in bases for each in base["edits"]]


def _edit(before: Changes, given: dict[str, Any]) -> Edit:
    after = before
    for path, value in given["set"].items():
        section, _, setting = path.partition(".")
        after = over(after, {section: {setting: value}})
    means, refused = (set(given[key]) if key in given else None for key in ("means", "refused"))
    return Edit(given["edit"], before, after, means, refused)


def over(before: Changes, after: Changes) -> Changes:
    """Return the settings of `before`, with those of `after` in their place, section by section."""
    return {each: {**before.get(each, {}), **after.get(each, {})} for each in before.keys() | after.keys()}


def refusals(changes: Changes) -> set[str]:
    """Return the rules by which `check` refuses the good deployment with these changes."""
    return {each.rule for each in validate(resolved(changes)) if each.level == "error"}


def template_of(changes: Changes) -> Template:
    """Synthesize the template of the good deployment with these changes, once for the same settings."""
    return _template(json.dumps(changes, sort_keys=True))


@cache
def _template(changes: str) -> Template:
    with TemporaryDirectory() as folder:
        return stack_of("edited", json.loads(changes), Path(folder)).template


def stack_of(name: str, changes: Changes, folder: Path) -> Stack:
    """Make the deployment's stack under this name. Logical ids contain the name, so compared stacks must share it."""
    return synthesized({name: resolved(changes)}, folder)[name]


EDITS = _read()
