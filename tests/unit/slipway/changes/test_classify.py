"""What an update means, by the resource schemas and CloudFormation's documentation."""

import json
import random
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import given

from slipway.changes import KINDS, classify
from support.templates.known_changes import KNOWN, Known, a, of, one

templates = st.sampled_from([each for known in KNOWN for each in (known.before, known.after)])


@pytest.mark.parametrize("known", KNOWN, ids=lambda known: known.name)
def test_an_update_means_what_is_known_of_it(known: Known) -> None:
    told = {f"{each.logical_id} {each.kind}" for each in classify(known.before, known.after)}

    expected = {each for each in known.meaning if not each.endswith(" nothing")}
    assert {each for each in told if not each.endswith(" nothing")} == expected
    assert known.meaning <= told


@pytest.mark.parametrize("known", KNOWN, ids=lambda known: known.name)
def test_every_update_is_told(known: Known) -> None:
    """A row without a meaning has two forms of one template."""
    assert bool(classify(known.before, known.after)) == bool(known.meaning)


def test_every_kind_is_in_the_table() -> None:
    assert {each.split()[1] for known in KNOWN for each in known.meaning} == set(KINDS)


@given(templates)
def test_a_template_does_not_differ_from_itself(template: dict[str, Any]) -> None:
    assert classify(template, json.loads(json.dumps(template))) == []


@given(templates, st.randoms())
def test_the_order_of_keys_means_nothing(template: dict[str, Any], chance: random.Random) -> None:
    assert classify(template, shuffled(template, chance)) == []


@given(st.permutations(["a", "b", "c"]), st.permutations([1, 2, 3]))
def test_the_order_of_sets_means_nothing(groups: list[str], numbers: list[int]) -> None:
    tags = [{"Key": str(number), "Value": "v"} for number in numbers]
    known = one("", "EC2::Instance", {"SecurityGroupIds": ["a", "b", "c"]}, {"SecurityGroupIds": groups})
    known.before["Resources"]["R"]["Properties"]["Tags"] = sorted(tags, key=lambda tag: tag["Key"])
    known.after["Resources"]["R"]["Properties"]["Tags"] = tags

    assert classify(known.before, known.after) == []


@given(templates, templates)
def test_any_two_templates_have_an_answer(one_template: dict[str, Any], other: dict[str, Any]) -> None:
    assert all(each.kind in KINDS for each in classify(one_template, other))


@pytest.mark.parametrize(
    ("kind", "stops"),
    [
        ("DynamoDB::Table", True),  # holds data
        ("SageMaker::Endpoint", True),  # is billed by the hour
        ("SageMaker::EndpointConfig", False),  # a version that never changes: holds no data and bills nothing
        ("SageMaker::Model", False),
        ("Lambda::Permission", False),
        ("ApiGateway::Deployment", False),
    ],
)
def test_what_holds_data_or_is_billed_is_not_removed_unnoticed(kind: str, *, stops: bool) -> None:
    (removed, *_) = classify(of(R=a(kind, {"X": 1})), of())

    assert (removed.kind, removed.gated) == ("removed", stops)


def test_values_of_parameters_are_given() -> None:
    template = {
        "Parameters": {"Name": {"Type": "String"}, "Secret": {"Type": "String", "NoEcho": True}},
        **of(
            R=a("SQS::Queue", {"QueueName": {"Ref": "Name"}}), S=a("SQS::Queue", {"KmsMasterKeyId": {"Ref": "Secret"}})
        ),
    }

    changes = classify(
        template,
        template,
        before_values={"Name": "a", "Secret": "x-1"},
        after_values={"Name": "b", "Secret": "x-2"},
    )

    assert [each.kind for each in changes] == ["replaced", "data-loss", "nothing"]
    assert "QueueName a -> b" in changes[0].sentence
    assert "x-" not in str(changes)


def test_an_unknown_region_has_the_schemas_of_another() -> None:
    tables = [of(R=a("DynamoDB::Table", {"TableName": each})) for each in "ab"]

    assert classify(*tables, region="xx-nowhere-1")[0].kind == "replaced"


def test_a_macro_is_not_passed_over() -> None:
    before = {"Transform": "Mine", **of(R=a("SQS::Queue"))}

    assert [each.kind for each in classify(before, {**before, "Metadata": {"a": 1}})] == ["unknown"]


def shuffled(value: Any, chance: random.Random) -> Any:
    """The value with the keys of every object in another order."""
    if isinstance(value, list):
        return [shuffled(each, chance) for each in value]
    if not isinstance(value, dict):
        return value
    keys = list(value)
    chance.shuffle(keys)
    return {key: shuffled(value[key], chance) for key in keys}
