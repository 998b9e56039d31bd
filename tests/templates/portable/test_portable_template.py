"""The portable template: the same resources as the CDK's, for any account, region and choice of its parameters."""

import json
import re
from dataclasses import replace
from typing import Any, NamedTuple

import pytest
import yaml

from llm_hosting.portable.template import PortableTemplate, portable_template
from llm_hosting.resolution import Resolution
from llm_hosting.stack_label import StackLabel
from local_cloud.assembly import Stack
from slipway.changes import classify
from support.deployments.good_one import KEY, OWN_REGISTRY, SECRET, Changes, resolved
from support.deployments.known_deployments import SHIPPED, VARIANTS
from support.templates.portable_templates import comparable, portable, resolution, synthesized
from support.templates.resolved_templates import resolved as resolved_template
from support.templates.template_parts import Template, properties

ALL_ON = {"DeployEndpoint": "true", "ApiAccessLogs": "true"}
CALLERS = ["444455556666", "arn:aws:iam::777788889999:role/caller"]
OF_ORGANIZATION = {
    "StringEquals": {"aws:PrincipalOrgID": "o-a1b2c3d4e5"},
    "StringNotEquals": {"aws:PrincipalAccount": {"Ref": "AWS::AccountId"}},
}
DEPLOYMENTS = sorted({*SHIPPED, *VARIANTS} - {"own-image"})  # the assembly has it for one region


def with_switches(template: Template, values: dict[str, str]) -> dict[str, str]:
    """Return the values, plus endpoint, access logs and a bucket of archives if the template has such parameters."""
    asked = {**ALL_ON, "ArchiveBucketPrefix": "archives"}
    return {name: value for name, value in asked.items() if name in template["Parameters"]} | values


@pytest.mark.parametrize("name", DEPLOYMENTS)
def test_both_renderings_hold_the_same_resources_except_code(stacks: dict[str, Stack], name: str) -> None:
    made = portable(stacks[name])
    values = with_switches(made.content, dict(made.parameters))
    assert comparable(made.content, name, values) == comparable(stacks[name].template, name)


def test_a_rendered_template_has_the_label_that_names_its_mode(stacks: dict[str, Stack]) -> None:
    head, _, _ = portable(stacks["gpt2-ec2"]).body().partition("\nParameters:")
    label = StackLabel.from_metadata(yaml.safe_load(head)["Metadata"])
    assert label == StackLabel("openai-community/gpt2", "ec2")


WEB_ACL = "arn:aws:wafv2:us-east-1:444455556666:regional/webacl/another/"
KEYS = [f"{KEY.rpartition('/')[0]}/{digit * 8}-0000-4000-8000-000000000001" for digit in "23"]
SUBNET, ANOTHER_REGISTRY = "subnet-1a1b2c3d4e5f6071", "555566667777.dkr.ecr.${AWS::Region}.${AWS::URLSuffix}"
KEPT: Changes = {"logs": {"retention_in_days": 7}, "jobs": {"retention_in_hours": 24}}
KEPT_VALUES = {"LogRetentionInDays": "7", "JobRetentionInHours": "24"}
TOLD: Changes = {"alarms": {"topic_arn": "arn:aws:sns:us-east-1:111122223333:on-call"}}
ANOTHER_PLAN = "arn:aws:sagemaker:eu-west-1:444455556666:training-plan/another"
ONE_AT_ONCE = {"scaling": {"concurrent_requests_per_instance": 1}}


def weights(uri: str, key: str) -> Changes:
    return {"weights": uri, "weights_kms_key_arn": key}


def own_network(digit: str) -> Changes:
    ids = {kind: f"{kind}-{digit * 8}" for kind in ("vpc", "sg", "rtb")}
    return {
        "vpc_id": ids["vpc"],
        "subnet_ids": [f"subnet-{digit * 7}{number}" for number in "89"],
        "security_group_ids": [ids["sg"]],
        "service_endpoints": True,
        "route_table_ids": [ids["rtb"]],
        "functions": True,
    }


# Each row: a deployment by name or settings, the changes of another one, and the parameters that express them.
# beside its own ARNs and ids.
PAIRS: dict[str, tuple[str | Changes, Changes, dict[str, str]]] = {
    "isolated": (
        "isolated",
        {
            "model": weights("s3://another/j/", KEYS[0]),
            "hosting": {"volume_kms_key_arn": KEYS[1], "instance_count": {"min": 3, "max": 3}},
            **KEPT,
            **TOLD,
        },
        {"WeightsBucket": "another", "WeightsPrefix": "j/", "InstanceCount": "3", **KEPT_VALUES},
    ),
    "budget": (
        {
            "hosting": {"instance_type": "ml.g6.2xlarge"},
            "model": {"id": "Qwen/Qwen3-4B", "weights": "s3://bucket/q/"},
            "operations": {"monthly_budget_in_usd": 900},
            "alarms": {"topic_arn": "arn:aws:sns:us-east-1:111122223333:others"},
        },
        {"model": {"weights": "s3://another/j/"}, **TOLD},
        {"WeightsBucket": "another", "WeightsPrefix": "j/"},
    ),
    "scaled": (
        {
            "model": {"id": "Qwen/Qwen3-4B", **weights("s3://bucket/q/", KEYS[0])},
            "hosting": {
                "instance_type": "ml.p3.2xlarge",
                "instance_count": {"min": 1, "max": 8},
                "volume_kms_key_arn": KEYS[0],
                **ONE_AT_ONCE,
            },
        },
        {
            "hosting": {
                "instance_count": {"min": 2, "max": 3},
                "volume_kms_key_arn": KEYS[1],
            },
            **TOLD,
        },
        {"MinInstances": "2", "MaxInstances": "3"},
    ),
    "async": (
        "async",
        {
            "hosting": {"instance_count": {"min": 1, "max": 3}, "instance_type": "ml.g5.2xlarge"},
            "alarms": {"topic_arn": None},
            **KEPT,
        },
        {
            "MinInstances": "1",
            "MaxInstances": "3",
            "InstanceType": "ml.g5.2xlarge",
            "AlarmTopicArn": "",
            **KEPT_VALUES,
        },
    ),
    "awake-hours": ("awake-hours", {"hosting": {"instance_count": {"max": 6}}}, {"MaxInstances": "6"}),
    "own-image": (
        {
            "model": {"id": "Qwen/Qwen3-4B", "hub_token_secret_arn": SECRET},
            "serving": {"image_uri": f"{OWN_REGISTRY}/team/lmi:0.36.0-lmi28.0.0-cu130-patched"},
        },
        {
            "model": {"hub_token_secret_arn": f"{SECRET}2"},
            "serving": {"image_uri": f"{ANOTHER_REGISTRY}/team/lmi:0.36.0-lmi28.0.0-cu130-new"},
        },
        {"ImageTag": "0.36.0-lmi28.0.0-cu130-new"},
    ),
    "canary": (
        "canary",
        {"hosting": {"instance_count": {"min": 4, "max": 8}, "reserved_capacity_arn": ANOTHER_PLAN}},
        {"MinInstances": "4", "MaxInstances": "8"},
    ),
    "own-keys": (
        {"model": {"id": "Qwen/Qwen3-4B"}, "security": {"kms_key_arn": KEY, "log_kms_key_arn": KEYS[0]}},
        {"security": {"kms_key_arn": KEYS[1], "log_kms_key_arn": KEY}},
        {},
    ),
    "one-key-for-all": (
        {"model": {"id": "Qwen/Qwen3-4B"}, "security": {"kms_key_arn": KEY, "log_kms_key_arn": KEY}},
        {"security": {"kms_key_arn": KEYS[0], "log_kms_key_arn": KEYS[0]}},
        {},
    ),
    "private": (
        "private",
        {
            "api": {
                "private": {"vpc_endpoint_ids": ["vpce-2a1b2c3d4e5f60718"]},
                "waf_acl_arn": f"{WEB_ACL}1b1c2d3e-4f50-4617-8293-a4b5c6d7e8f9",
            }
        },
        {},
    ),
    "front-door": (
        "front-door",
        {
            "api": {
                "domain": {
                    "name": "llm.example.org",
                    "certificate_arn": "arn:aws:acm:eu-west-1:444455556666:certificate/1b1c2d3e",
                    "zone": {"id": "Z1123456789ABCDEFGHIJ", "name": "example.org"},
                }
            }
        },
        {},
    ),
    "containers-in-own-network": (
        {
            "model": {"id": "Qwen/Qwen3-4B"},
            "hosting": {"instance_type": "ml.g6.2xlarge"},
            "security": {"vpc": own_network("1")},
        },
        {"security": {"vpc": own_network("2")}, **KEPT},
        KEPT_VALUES,
    ),
    "own-network": (
        "own-network",
        {
            "model": weights("s3://another/q/", KEYS[0]),
            "hosting": {"instance_type": "m7g.2xlarge", "volume_kms_key_arn": KEYS[1]},
            "security": {"vpc": {"vpc_id": "vpc-1a1b2c3d4e5f60718", "subnet_ids": [f"{SUBNET}8", f"{SUBNET}9"]}},
            **KEPT,
            **TOLD,
        },
        {"InstanceType": "m7g.2xlarge", "WeightsBucket": "another", "WeightsPrefix": "q/", **KEPT_VALUES},
    ),
}


class Pairs(NamedTuple):
    """`first`, `other`: resolution and stack of the two deployments of each pair."""

    first: dict[str, tuple[Resolution, Stack]]
    other: dict[str, tuple[Resolution, Stack]]


@pytest.fixture(scope="module")
def pairs(stacks: dict[str, Stack], tmp_path_factory: pytest.TempPathFactory) -> Pairs:
    """Return the pairs: stacks of the assembly, and new stacks for settings that no file holds."""
    both: tuple[dict[str, Resolution], ...] = ({}, {})
    for name, (base, changes, _) in PAIRS.items():
        settings = resolution(base).deployment.model_dump(exclude_unset=True) if isinstance(base, str) else base
        both[0][name] = resolution(base) if isinstance(base, str) else resolved(base)
        both[1][name] = resolved(merged(settings, changes))
    unknown = {name: each for name, each in both[0].items() if not isinstance(PAIRS[name][0], str)}
    made = stacks | synthesized(unknown, tmp_path_factory.mktemp("first"))
    others = synthesized(both[1], tmp_path_factory.mktemp("other"))
    return Pairs(
        {name: (each, made[name]) for name, each in both[0].items()},
        {name: (each, others[name]) for name, each in both[1].items()},
    )


def merged(first: Changes, other: Changes) -> Changes:
    """Return the first deployment's settings, replaced by the other's, setting by setting."""
    return {each: {**first.get(each, {}), **other.get(each, {})} for each in first.keys() | other.keys()}


@pytest.mark.parametrize("name", PAIRS)
def test_a_parameter_changes_everything_that_its_setting_changes(pairs: Pairs, name: str) -> None:
    (first, stack), (other, other_stack) = pairs.first[name], pairs.other[name]
    made = portable(stack, first)
    given = made.parameters | portable(other_stack, other).parameters | PAIRS[name][2]
    expected = comparable(other_stack.template, name)
    assert comparable(made.content, name, with_switches(made.content, given)) == expected
    for parameter in [name for name, value in given.items() if value != made.parameters.get(name)]:  # none is idle
        without = {key: value for key, value in given.items() if key != parameter} | {
            key: value for key, value in made.parameters.items() if key == parameter
        }
        assert comparable(made.content, name, with_switches(made.content, without)) != expected, parameter


def test_the_counts_to_choose_from_are_those_that_the_rollout_takes(stacks: dict[str, Stack]) -> None:
    in_batches, by_canary = (
        portable(stacks[name], resolution(name)).content["Parameters"] for name in ("rolling", "canary")
    )
    assert in_batches["InstanceCount"]["AllowedValues"] == ["2", "3", "4", "5", "6", "8", "10", "12", "16", "20"]
    assert by_canary["MinInstances"]["AllowedValues"][0] == "2"


def statements(policy: Any) -> list[dict[str, Any]]:
    return [] if policy is None else policy["Statement"]


@pytest.mark.parametrize(
    ("given", "principals", "conditions"),
    [
        ({}, [], []),
        ({"AllowedPrincipals": "444455556666,arn:aws:iam::777788889999:role/caller"}, [{"AWS": CALLERS}], [None]),
        ({"AllowedOrganizationId": "o-a1b2c3d4e5"}, [{"AWS": "*"}], [OF_ORGANIZATION]),
        (
            {"AllowedPrincipals": CALLERS[0], "AllowedOrganizationId": "o-a1b2c3d4e5"},
            [{"AWS": CALLERS[:1]}, {"AWS": "*"}],
            [None, OF_ORGANIZATION],
        ),
    ],
)
def test_the_api_lets_in_callers_of_other_accounts_who_are_named(
    stacks: dict[str, Stack], given: dict[str, str], principals: list[Any], conditions: list[Any]
) -> None:
    """The policy never allows the whole own account: a caller there would then need no permission of its own."""
    api = properties(resolved_template(portable(stacks["gpt2"]).content, given), "ApiGateway::RestApi")
    denied, *allowed = statements(api["Policy"])
    assert (denied["Effect"], denied["Condition"]) == ("Deny", {"Bool": {"aws:SecureTransport": "false"}})
    assert [each["Principal"] for each in allowed] == principals
    assert [each.get("Condition") for each in allowed] == conditions
    for each in allowed:
        assert (each["Effect"], each["Action"], each["Resource"]) == (
            "Allow",
            "execute-api:Invoke",
            "execute-api:/v1/*",
        )


def test_a_policy_leaves_the_page_open_to_everybody(stacks: dict[str, Stack]) -> None:
    keyed = resolution("playground")
    api = keyed.deployment.api.model_copy(update={"auth": "iam"})
    signed = replace(keyed, deployment=keyed.deployment.model_copy(update={"api": api}))
    content = portable(stacks["playground"], signed).content
    policy = properties(resolved_template(content, {"AllowedPrincipals": CALLERS[0]}), "ApiGateway::RestApi")["Policy"]
    _, listed, *everybody = policy["Statement"]
    assert listed["Principal"] == {"AWS": CALLERS[:1]}
    assert all(each["Principal"] == {"AWS": "*"} for each in everybody)
    routes = {each["Resource"] for each in everybody}
    assert {"execute-api:/v1/GET/", "execute-api:/v1/GET/playground/*"} <= routes


def test_an_api_without_signatures_has_no_parameters_for_callers(stacks: dict[str, Stack]) -> None:
    for name in ("with-api-key", "open"):
        assert not {"AllowedPrincipals", "AllowedOrganizationId"} & portable(stacks[name]).content["Parameters"].keys()


def ids(template: PortableTemplate, kind: str) -> set[str]:
    return {name for name, each in template.content["Resources"].items() if each["Type"] == f"AWS::{kind}"}


@pytest.mark.parametrize(
    ("name", "kind", "values"),
    [
        ("gpt2", "ApiGateway::Deployment", {"AllowedOrganizationId": "o-a1b2c3d4e5"}),
        ("isolated", "IAM::Policy", {"WeightsBucket": "another"}),
    ],
)
def test_a_resource_that_can_not_be_changed_is_replaced_for_another_value(
    stacks: dict[str, Stack], name: str, kind: str, values: dict[str, str]
) -> None:
    made, changed = portable(stacks[name]), portable(stacks[name], values=values)
    assert ids(made, kind) - ids(changed, kind)
    assert all(
        each["Properties"]["PolicyName"] == logical_id
        for logical_id, each in changed.content["Resources"].items()
        if each["Type"] == "AWS::IAM::Policy"
    )
    idle = {"LogRetentionInDays": "7", "AllowedPrincipals": ""}
    assert portable(stacks[name], values=idle).content == made.content


@pytest.mark.parametrize("name", ["gpt2-ec2", "own-network", "opt-30b", "isolated"])
def test_rendering_again_with_the_deployments_own_values_replaces_nothing(stacks: dict[str, Stack], name: str) -> None:
    """The logical id of a launch template must stay: another one would mean another machine."""
    first = portable(stacks[name])
    kept = first.parameters | {"DeployEndpoint": "true", "LogRetentionInDays": "7"}
    assert portable(stacks[name], values=kept).content == first.content
    filled_in = kept | {"ArchiveBucketPrefix": "archives", "SubnetId1": "subnet-0123456789abcdef0"}
    again = portable(stacks[name], values=filled_in)
    changed = again.content["Resources"].keys() ^ first.content["Resources"].keys()
    assert {name for name in changed if "RoleArtefacts" not in name} == set()


def test_only_instance_types_with_the_same_template_are_offered(stacks: dict[str, Stack]) -> None:
    offered = portable(stacks["qwen3-4b"]).content["Parameters"]["InstanceType"]["AllowedValues"]
    assert offered[0] == "ml.g6.2xlarge"
    assert "ml.g5.xlarge" in offered
    assert "ml.g6.12xlarge" not in offered, "four GPUs: other variables of the container"
    assert "ml.t2.medium" not in offered, "no GPU: the check has errors"
    assert "InstanceType" not in portable(stacks["pools"]).content["Parameters"]
    of_four_copies = portable(stacks["awake-hours"]).content["Parameters"]["InstanceType"]["AllowedValues"]
    assert "ml.g6.24xlarge" in of_four_copies
    assert "ml.g6.48xlarge" not in of_four_copies, "it has room for eight copies"


@pytest.mark.parametrize(("name", "kind"), [("scaled", "refused"), ("qwen3-4b", "new-instances")])
def test_another_type_is_refused_for_an_endpoint_that_scales(stacks: dict[str, Stack], name: str, kind: str) -> None:
    made = portable(stacks[name]).content
    types = made["Parameters"]["InstanceType"]["AllowedValues"][:2]
    before, after = (with_switches(made, {"InstanceType": each}) for each in types)
    told = {each.kind for each in classify(made, made, before_values=before, after_values=after)}
    assert told & {"refused", "new-instances"} == {kind}
    assert ("while the endpoint scales" in made["Parameters"]["InstanceType"]["Description"]) == (name == "scaled")


def test_every_parameter_takes_its_default_and_the_deployments_own_value(stacks: dict[str, Stack]) -> None:
    for name in DEPLOYMENTS:
        made = portable(stacks[name])
        for parameter, each in made.content["Parameters"].items():
            for value in filter(lambda value: value is not None, (each.get("Default"), made.parameters.get(parameter))):
                assert value in each.get("AllowedValues", [value]), (name, parameter)
                assert re.fullmatch(each.get("AllowedPattern", ".*"), value), (name, parameter)


def holds(assertion: Any, values: dict[str, str]) -> bool:
    """Return whether a rule's assertion holds."""
    ((name, argument),) = assertion.items()
    if name == "Fn::Or":
        return any(holds(each, values) for each in argument)
    if name == "Fn::Not":
        return not holds(argument[0], values)
    if name == "Fn::Equals":
        return bool(values[argument[0]["Ref"]] == argument[1])
    assert name == "Fn::Contains"
    return bool(values[argument[1]["Ref"]] in argument[0])


@pytest.mark.parametrize(
    ("least", "most", "right"), [("0", "1", True), ("2", "2", True), ("3", "2", False), ("100", "64", False)]
)
def test_a_rule_refuses_a_minimum_above_the_maximum(
    stacks: dict[str, Stack], least: str, most: str, right: bool
) -> None:
    rule = portable(stacks["async"]).content["Rules"]["MinInstancesAtMostMaxInstances"]
    values = {"MinInstances": least, "MaxInstances": most}
    assert all(holds(each["Assert"], values) for each in rule["Assertions"]) == right


def test_a_rule_refuses_a_region_without_images(stacks: dict[str, Stack]) -> None:
    (assertion,) = portable(stacks["gpt2"]).content["Rules"]["RegionHasImages"]["Assertions"]
    assert holds(assertion["Assert"], {"AWS::Region": "eu-west-1"})
    assert not holds(assertion["Assert"], {"AWS::Region": "mars-north-1"})


def test_a_rule_refuses_a_region_in_which_nothing_sleeps(stacks: dict[str, Stack]) -> None:
    (assertion,) = portable(stacks["qwen3-4b-zero"]).content["Rules"]["RegionHasComponents"]["Assertions"]
    assert holds(assertion["Assert"], {"AWS::Region": "eu-central-1"})
    assert not holds(assertion["Assert"], {"AWS::Region": "eu-west-3"})
    assert "RegionHasComponents" not in portable(stacks["qwen3-4b"]).content["Rules"]


@pytest.mark.parametrize(
    ("image", "parameters"),
    [
        ("repository:1.0", {"ImageTag": "1.0"}),
        (f"{OWN_REGISTRY}/team/lmi:1.0", {"ImageAccount": None, "ImageTag": "1.0"}),
        (f"{OWN_REGISTRY}/team/lmi@sha256:{'a' * 64}", {"ImageAccount": None}),
        ("${AWS::AccountId}.dkr.ecr.eu-west-1.amazonaws.com/lmi", {}),
    ],
)
def test_registry_and_tag_are_parameters_of_an_image_that_has_them(
    pairs: Pairs, image: str, parameters: dict[str, str | None]
) -> None:
    first, stack = pairs.first["own-image"]
    text = stack.template_body.replace(first.image, image)
    moved = replace(first, image=image)
    made = portable_template(
        json.loads(text), "own-image", moved, {each.object_key: each.source for each in stack.assets}, {}
    )
    found = {name: each.get("Default") for name, each in made.content["Parameters"].items() if name.startswith("Image")}
    assert found == parameters
    uri = json.dumps(properties(made.content, "SageMaker::Model")["PrimaryContainer"]["Image"])
    assert not re.search("eu-west-1|us-west-2|amazonaws.com|444455556666", uri)


def test_every_parameter_and_condition_is_used(stacks: dict[str, Stack]) -> None:
    without_jobs = resolution("jobs-off")
    scaling = without_jobs.deployment.hosting.scaling.model_copy(update=ONE_AT_ONCE["scaling"])
    hosting = without_jobs.deployment.hosting.model_copy(update={"scaling": scaling})
    given = replace(without_jobs, deployment=without_jobs.deployment.model_copy(update={"hosting": hosting}))
    made = [portable(stacks[name]) for name in DEPLOYMENTS]
    for content in (each.content for each in [*made, portable(stacks["jobs-off"], given)]):
        text = json.dumps({name: part for name, part in content.items() if name != "Parameters"})
        for name in (*content["Parameters"], *content["Conditions"]):
            assert re.search(rf'"(?:Ref|Condition)": "{name}"|"Fn::If": \["{name}"|\$\{{{name}\}}', text), name
