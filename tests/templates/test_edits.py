"""Edits of a deployment as users make them: what `diff` and `check` say of each."""

import pytest

from slipway.changes import classify
from support.edits import EDITS, Edit, refusals, template_of


@pytest.mark.parametrize("edit", EDITS, ids=lambda edit: edit.name)
def test_an_edit_means_what_is_known_of_it(edit: Edit) -> None:
    assert refusals(edit.after) == (edit.refused or set())
    if edit.refused:
        return
    changes = classify(template_of(edit.before), template_of(edit.after))
    told = {each.kind + ("!" if each.gated else "") for each in changes}
    assert told - {"added", "nothing", "removed"} == edit.means


def test_every_edit_changes_something() -> None:
    assert all(edit.before != edit.after for edit in EDITS)
