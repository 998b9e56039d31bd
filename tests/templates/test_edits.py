"""Edits of a deployment as users make them: what `diff` and `check` say of each."""

import ast
import re

import pytest

from slipway.changes import classify
from support.repository import ROOT
from support.templates.edits import EDITS, Edit, refusals, template_of
from support.templates.template_parts import Template


@pytest.mark.parametrize("edit", EDITS, ids=lambda edit: edit.name)
def test_an_edit_has_its_known_changes_or_refusals(edit: Edit) -> None:
    assert refusals(edit.after) == (edit.refused or set())
    if edit.refused:
        return
    changes = classify(template_of(edit.before), template_of(edit.after))
    told = {each.kind + ("!" if each.gated else "") for each in changes}
    assert told - {"added", "nothing", "removed"} == edit.means


def test_every_edit_changes_something() -> None:
    assert all(edit.before != edit.after for edit in EDITS)


def test_only_types_of_our_templates_are_known_by_hand(templates: dict[str, Template]) -> None:
    """For all other types, `diff` relies on their resource schemas."""
    held = {each["Type"] for template in templates.values() for each in template["Resources"].values()}
    trees = [ast.parse(path.read_text()) for path in (ROOT / "slipway" / "changes").rglob("*.py")]
    texts = [node.value for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Constant)]
    known = {each for each in texts if isinstance(each, str) and re.fullmatch(r"AWS::\w+::\w+", each)}
    assert known
    assert known - held == {"AWS::CloudFormation::StackSet"}  # of fleets
