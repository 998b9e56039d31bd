"""What an update means, by the resource schemas and CloudFormation's documentation."""

import json
import random
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import given

from slipway.changes import KINDS, classify
from support.known_changes import KNOWN, Known, a, allow, endpoint, of, one, role

URI = "111122223333.dkr.ecr.us-east-1.amazonaws.com/a-team-of-ours-deep/djl"
templates = st.sampled_from([each for known in KNOWN for each in (known.before, known.after)])
actions = st.sampled_from(["s3:*", "s3:Get*", "s3:GetObject", "s3:GetObjectTagging", "sqs:*", "sqs:SendMessage", "*"])
resources = st.sampled_from(["*", "arn:aws:s3:::b/*", "arn:aws:s3:::b/a/*", "arn:aws:s3:::b/a/?", "arn:aws:sqs:::q"])


@pytest.mark.parametrize("known", KNOWN, ids=lambda known: known.name)
def test_an_update_means_what_is_known_of_it(known: Known) -> None:
    told = {f"{each.logical_id} {each.kind}" for each in classify(known.before, known.after)}

    expected = {each for each in known.meaning if not each.endswith(" nothing")}
    assert {each for each in told if not each.endswith(" nothing")} == expected
    assert known.meaning <= told


@pytest.mark.parametrize("known", KNOWN, ids=lambda known: known.name)
def test_every_update_is_told(known: Known) -> None:
    """Rows that mean nothing at all are those whose templates are two forms of the same."""
    assert bool(classify(known.before, known.after)) == bool(known.meaning)


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ("short", "shorter", "short -> shorter"),
        (f"{URI}:0.36.0", f"{URI}:0.37.0", "...rs-deep/djl:0.36.0 -> ...rs-deep/djl:0.37.0"),
        (f"{URI}:1", f"{URI}:2-cu130", "...-ours-deep/djl:1 -> ...-ours-deep/djl:2-cu130"),
        (f"1{URI}", f"2{URI}", "1111122223333.dk... -> 2111122223333.dk..."),
        ("a" * 70, "a" * 90, f"...{'a' * 15} -> ...{'a' * 35}"),
        ("a" * 70, "b" * 70, f"{'a' * 57}... -> {'b' * 57}..."),
    ],
)
def test_of_long_values_the_part_that_differs_is_told(before: str, after: str, told: str) -> None:
    known = one("", "Lambda::Function", {"Description": before}, {"Description": after})

    (change,) = classify(known.before, known.after)
    assert change.sentence == f"Description {told}, in place"


def test_new_instances_are_told_with_quotas_price_and_minutes() -> None:
    waits = {"TerminationWaitInSeconds": 300, "MaximumExecutionTimeoutInSeconds": 3900}
    policy = {"BlueGreenUpdatePolicy": waits}
    before, after = (endpoint(kind, DeploymentConfig=policy) for kind in ("ml.g6.2xlarge", "ml.p4d.24xlarge"))

    (told,) = (each for each in classify(before, after, start_in_seconds=420) if each.kind == "new-instances")
    assert told.sentence == (
        "1 ml.p4d.24xlarge beside 1 ml.g6.2xlarge, quotas for both: 1 of 'ml.g6.2xlarge for endpoint usage', "
        "1 of 'ml.p4d.24xlarge for endpoint usage'; about 38.91 USD an hour while both run; about 12 minutes, "
        "the last 5 of them under watch, at most 65 minutes"
    )


def test_the_price_of_two_fleets_that_scale_goes_up_to_that_of_both_scaled_out() -> None:
    wait = {"BlueGreenUpdatePolicy": {"TerminationWaitInSeconds": 60}}
    before, after = (endpoint("ml.g6.2xlarge", most=4, DeploymentConfig=each) for each in ({}, wait))
    after["Resources"]["Config"]["Properties"]["ProductionVariants"][0]["InitialVariantWeight"] = 2

    (told,) = (each for each in classify(before, after) if each.kind == "new-instances")
    assert "about 2.44 to 9.78 USD an hour while both run" in told.sentence


def test_what_is_new_and_billed_has_its_price() -> None:
    machine = a("EC2::Instance", {"InstanceType": "c5.xlarge"})

    (price,) = (each for each in classify(of(A=machine), of(A=machine, B=machine)) if each.kind == "price")
    assert (price.logical_id, price.sentence) == ("B", "new, about 0.17 USD an hour")


def test_a_machine_under_another_id_costs_what_it_did() -> None:
    machine = a("EC2::Instance", {"InstanceType": "c5.xlarge"})

    assert "price" not in {each.kind for each in classify(of(A=machine), of(B=machine))}


def test_routes_with_several_authorizers_that_change_alike_are_one_line() -> None:
    def api(**admission: dict[str, str]) -> dict[str, Any]:
        methods = {
            verb: a("ApiGateway::Method", {"RestApiId": {"Ref": "Api"}, "HttpMethod": verb, "ResourceId": "r", **each})
            for verb, each in admission.items()
        }
        return of(Api=a("ApiGateway::RestApi"), **methods)

    by_key = {verb: {"AuthorizationType": "CUSTOM", "AuthorizerId": verb} for verb in ("GET", "POST")}
    signed = {verb: {"AuthorizationType": "AWS_IAM"} for verb in by_key}

    (refused,) = (each for each in classify(api(**by_key), api(**signed)) if each.kind == "callers-refused")
    assert "on GET r, POST r: " in refused.sentence


def test_grants_that_differ_by_their_conditions_are_told_apart() -> None:
    reads = allow("s3:GetObject")
    puts = [
        allow("events:PutEvents", Condition={"StringEquals": {"events:detail-type": each}}) for each in ("End", "Wait")
    ]

    (told,) = (each for each in classify(of(R=role(reads)), of(R=role(reads, *puts))) if each.gated)
    assert told.sentence.endswith(
        "events:PutEvents on * if events:detail-type StringEquals End; "
        "events:PutEvents on * if events:detail-type StringEquals Wait"
    )


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ({"any_model": True}, {}, "requests for any model but gpt are refused from then on"),
        ({"names": ["old"]}, {}, "requests for the model old are refused from then on"),
    ],
)
def test_models_whose_names_are_refused_are_told(before: dict[str, Any], after: dict[str, Any], told: str) -> None:
    def api(facts: dict[str, Any]) -> dict[str, Any]:
        variables = {"OPENAI_ROUTES": "1", "MODEL_ID": "gpt", "OPENAI_FACTS": json.dumps(facts)}
        return of(
            Api=a("ApiGateway::RestApi", {"Name": "api"}),
            Route=a("ApiGateway::Method", {"RestApiId": {"Ref": "Api"}, "HttpMethod": "GET", "ResourceId": "r"}),
            F=a("Lambda::Function", {"Environment": {"Variables": variables}}),
        )

    (refused,) = (each for each in classify(api(before), api(after)) if each.kind == "callers-refused")
    assert refused.sentence == told


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


@given(st.lists(st.tuples(actions, resources), min_size=1), st.data())
def test_a_statement_that_is_covered_widens_nothing(pairs: list[tuple[str, str]], data: st.DataObject) -> None:
    statements = [allow(*pair) for pair in pairs]
    again = data.draw(st.permutations([*statements, data.draw(st.sampled_from(statements))]))

    changes = classify(of(R=role(*statements)), of(R=role(*again)))

    assert {each.kind for each in changes} <= {"nothing"}


@given(actions, resources)
def test_an_action_that_was_not_allowed_widens(action: str, resource: str) -> None:
    changes = classify(
        of(R=role(allow("dynamodb:GetItem"))), of(R=role(allow("dynamodb:GetItem"), allow(action, resource)))
    )

    assert "permission-widened" in {each.kind for each in changes}


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


def test_the_price_has_both_figures() -> None:
    by_type = [
        of(
            R=a(
                "SageMaker::EndpointConfig", {"ProductionVariants": [{"InstanceType": each, "InitialInstanceCount": 2}]}
            )
        )
        for each in ("ml.g5.xlarge", "ml.g5.2xlarge")
    ]

    (price,) = (each for each in classify(*by_type) if each.kind == "price")

    assert price.sentence == "about 2.82 -> 3.03 USD an hour"


def test_a_region_that_nobody_knows_has_the_schemas_of_another() -> None:
    tables = [of(R=a("DynamoDB::Table", {"TableName": each})) for each in "ab"]

    assert classify(*tables, region="xx-nowhere-1")[0].kind == "replaced"


def test_a_macro_is_not_passed_over() -> None:
    before = {"Transform": "Mine", **of(R=a("SQS::Queue"))}

    assert [each.kind for each in classify(before, {**before, "Metadata": {"a": 1}})] == ["unknown"]


def shuffled(value: Any, chance: random.Random) -> Any:
    """With the keys of every object in another order."""
    if isinstance(value, list):
        return [shuffled(each, chance) for each in value]
    if not isinstance(value, dict):
        return value
    keys = list(value)
    chance.shuffle(keys)
    return {key: shuffled(value[key], chance) for key in keys}
