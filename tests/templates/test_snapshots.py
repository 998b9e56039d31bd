"""The shipped templates are the accepted ones; `make snapshot` accepts new ones, whose diff somebody reads."""

import json
import re
from difflib import SequenceMatcher
from itertools import takewhile
from pathlib import Path
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion
from syrupy.extensions.json import JSONSnapshotExtension

from slipway.templates.masked import masked
from slipway.templates.snapshot import meaning
from support.deployments.known_deployments import ACCOUNT_SETTINGS, SHIPPED, STAGING
from support.templates.template_parts import Template

SNAPSHOTS = Path(__file__).parent / "__snapshots__" / "test_snapshots"
BASES = ["qwen3-4b", "qwen3-4b-async", "gpt2-ec2", "flan-t5-xxl"]  # one of each mode, and one without OpenAI routes
WHOLE = [*BASES[:3], ACCOUNT_SETTINGS, STAGING]


@pytest.mark.parametrize("name", WHOLE)
def test_the_template_is_the_accepted_one(
    templates: dict[str, Template], name: str, snapshot: SnapshotAssertion
) -> None:
    accepted = SNAPSHOTS / f"test_the_template_is_the_accepted_one[{name}].json"
    meant = meaning(name, json.loads(accepted.read_text()) if accepted.is_file() else {}, masked(templates[name]))
    if meant:
        print(meant)  # `make snapshot` shows it
    assert masked(templates[name]) == snapshot(extension_class=JSONSnapshotExtension), meant


def test_a_failure_says_what_the_change_means(templates: dict[str, Template]) -> None:
    accepted = masked(templates["qwen3-4b"])
    changed = json.loads(json.dumps(accepted))
    table = next(each for each in changed["Resources"].values() if each["Type"] == "AWS::DynamoDB::Table")
    table["Properties"]["TableName"] = "jobs"

    assert "TableName (absent) -> jobs: replaced" in meaning("qwen3-4b", accepted, changed)
    assert meaning("qwen3-4b", accepted, accepted) == ""


@pytest.mark.parametrize("name", sorted(set(SHIPPED) - set(WHOLE)))
def test_the_template_differs_from_the_nearest_base_as_accepted(
    templates: dict[str, Template], name: str, snapshot: SnapshotAssertion
) -> None:
    own = unnamed(name, templates[name])
    earlier = takewhile(lambda base: base != name, BASES)  # so that two templates never refer to each other
    differences = {base: differing(unnamed(base, templates[base]), own) for base in earlier}
    nearest = min(differences, key=lambda base: len(json.dumps(differences[base])))
    difference = differences[nearest]
    difference["Resources"] = shared(difference["Resources"], templates[name])
    assert {"(base)": nearest} | difference == snapshot(extension_class=JSONSnapshotExtension)


def differing(first: Any, other: Any) -> Any:
    """Return how `other` differs from `first`: its different parts, and "(absent)" for each key that it lacks."""
    if isinstance(first, dict) and isinstance(other, dict):
        absent = dict.fromkeys(first.keys() - other.keys(), "(absent)")
        changed = {key: value for key, value in other.items() if key not in first or first[key] != value}
        return absent | {key: differing(first.get(key), value) for key, value in changed.items()}
    if isinstance(first, list) and isinstance(other, list):
        return differing_items(first, other)
    return other


def differing_items(first: list[Any], other: list[Any]) -> dict[str, Any]:
    """Return the differences by index: "[2]" is changed, "[-2]" removed from `first`, "[+2]" added in `other`."""
    one, another = ([json.dumps(item, sort_keys=True) for item in items] for items in (first, other))
    found: dict[str, Any] = {}
    for kind, start, end, other_start, other_end in SequenceMatcher(None, one, another, autojunk=False).get_opcodes():
        if kind != "equal":
            pairs = min(end - start, other_end - other_start)
            found |= {f"[{start + i}]": differing(first[start + i], other[other_start + i]) for i in range(pairs)}
            found |= {f"[-{index}]": first[index] for index in range(start + pairs, end)}
            found |= {f"[+{index}]": other[index] for index in range(other_start + pairs, other_end)}
    return found


def shared(resources: dict[str, Any], template: Template) -> dict[str, Any]:
    """Merge the differences of the functions into one entry if all functions have the same."""
    functions = {name for name, each in template["Resources"].items() if each["Type"] == "AWS::Lambda::Function"}
    changes = [resources.get(name) for name in functions]
    if changes[0] is None or changes.count(changes[0]) < len(changes):
        return resources
    return {"(every function)": changes[0]} | {name: each for name, each in resources.items() if name not in functions}


def unnamed(name: str, template: Template) -> Any:
    """Return the template without the stack's name in the ids of permissions."""
    stem = name.replace("-", "")
    text = json.dumps(masked(template))
    return json.loads(
        re.sub(
            rf"(ApiPermission|EventRule){stem}(\w*?)(?:ApiRestApi)?[0-9A-F]{{8,}}(\w*?)[0-9A-F]{{8,}}\w*",
            r"\1\2\3",
            text,
        )
    )
