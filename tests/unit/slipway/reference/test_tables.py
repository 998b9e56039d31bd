"""docs/: tables are filled from the catalog, and the examples of rows in models.md are rows."""

import json
import re
from typing import Any

import pytest

from llm_hosting.catalog.engines import engine
from llm_hosting.catalog.instances import InstanceType, ec2_instances, instances
from slipway.reference.tables import filled
from support.repository import ROOT

PAGE = (ROOT / "docs" / "models.md").read_text()
VERSION, INSTANCE, OF_EC2_ALONE = (
    json.loads(block if block.startswith("{") else f"{{{block}}}")
    for block in re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)
)


def marked(name: str, content: str = "old") -> str:
    return f"before\n<!-- made by `make reference`: {name} -->\n{content}\n<!-- end -->\nafter"


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("deployments", "deployments.md"),
        ("engines", "engines.md"),
        ("versions", "engines.md"),
        ("variables", "engines.md"),
        ("formats", "engines.md"),
        ("rules", "rules.md"),
        ("report", "models.md"),
        ("idle", "idle.md"),
    ],
)
def test_only_text_between_the_marks_is_replaced(name: str, file: str) -> None:
    page = filled(marked(name), ROOT)
    assert "\nold\n" not in page
    assert page.startswith("before\n")
    assert page.endswith("\nafter")
    assert filled(page, ROOT) == page
    assert f"`make reference`: {name} -->" in (ROOT / "docs" / file).read_text()


def test_a_mark_without_a_table_is_an_error() -> None:
    with pytest.raises(KeyError):
        filled(marked("tabels"), ROOT)


def test_a_table_names_the_versions_that_read_a_variable() -> None:
    table = filled(marked("variables"), ROOT)
    (row,) = (line for line in table.splitlines() if line.startswith("| `model.weights` |"))
    assert "`OPTION_S3URL`: lmi-deepspeed (to 0.21.0" in row
    assert "lmi-fastertransformer (from 0.22.1)" in row


def test_the_example_of_a_version_has_the_columns_of_versions() -> None:
    ((label, row),) = VERSION.items()
    assert label not in engine("lmi-vllm").versions, "then it is no example of a new one"
    path = ROOT / "constructs" / "llm_hosting" / "catalog" / "engines" / "lmi-vllm.json"
    known: dict[str, dict[str, Any]] = json.loads(path.read_text())["versions"]
    assert row.keys() <= set().union(*(version.keys() for version in known.values()))


def test_the_examples_of_instance_types_are_the_catalogs_own() -> None:
    ((name, row),) = INSTANCE.items()
    assert InstanceType(type=name, **row) == instances()[name]
    ((name, row),) = OF_EC2_ALONE.items()
    assert InstanceType(type=name, volume_size_allowed=True, **row) == ec2_instances()[name]
