"""The evidence of every template is whole: each role, permission with its reason, resource with data and way in."""

import copy
import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from inference_api.batches import storage
from inference_api.jobs.state import files
from llm_hosting import ACCOUNT_SETTINGS
from local_cloud.assembly import Stack
from slipway.__main__ import main
from slipway.changes.template.resources import resources_of
from slipway.evidence.evidence import Evidence
from slipway.evidence.gather import evidence_of, of_file
from slipway.evidence.names import short
from slipway.evidence.page import page
from slipway.evidence.reasons import reasons, roles
from support.deployments.known_deployments import SHIPPED, STAGING, VARIANTS
from support.templates.template_parts import Template, all_of

ALL = [*SHIPPED, *VARIANTS, ACCOUNT_SETTINGS, STAGING]
KEY = "arn:aws:kms:us-east-1:111122223333:key/1111abcd-0000-4000-8000-000000000002"
HASH = re.compile(r"[a-z][0-9A-F]{8}\b|[0-9a-f]{32}")


@pytest.fixture(scope="module")
def found(templates: dict[str, Template]) -> dict[str, Evidence]:
    """Return the evidence of each template."""
    return {name: evidence_of(name, templates[name], "us-east-1", None) for name in ALL}


def test_every_permission_of_every_role_has_a_reason(found: dict[str, Evidence]) -> None:
    """If this fails, add a row to slipway/evidence/permissions.yaml."""
    without = {
        (role.title, *each.actions, each.resource)
        for evidence in found.values()
        for role in evidence.roles
        for each in role.permissions
        if not each.why and each.effect == "Allow"
    }
    assert without == set()


def test_every_role_of_the_template_is_ours_and_shown(
    found: dict[str, Evidence], templates: dict[str, Template]
) -> None:
    for name, evidence in found.items():
        names = {key for key, each in templates[name]["Resources"].items() if each["Type"] == "AWS::IAM::Role"}
        assert {role.name for role in evidence.roles} == set(map(short, names))
        assert {role.title for role in evidence.roles} <= {role.title for role in roles()}
        assert all(role.assumed_by and role.used_by for role in evidence.roles)


def test_every_allowed_action_is_shown(found: dict[str, Evidence], templates: dict[str, Template]) -> None:
    for name, evidence in found.items():
        statements = [each for policy in all_of(templates[name], "IAM::Policy") for each in statements_in(policy)]
        actions = {action for each in statements for action in as_list(each["Action"])}
        assert actions == {action for role in evidence.roles for each in role.permissions for action in each.actions}


def test_every_resource_holds_data_or_is_known_to_hold_none(found: dict[str, Evidence]) -> None:
    """If this fails, describe the type in slipway/evidence/data.py."""
    assert {name: evidence.unknown for name, evidence in found.items() if evidence.unknown} == {}


def test_every_resource_is_counted_or_described(found: dict[str, Evidence], templates: dict[str, Template]) -> None:
    for name, evidence in found.items():
        shown = len(evidence.data) + sum(evidence.other.values())
        assert shown == len(resources_of(templates[name], {}, "us-east-1"))


def test_every_route_is_shown_with_its_callers(found: dict[str, Evidence], templates: dict[str, Template]) -> None:
    for name, evidence in found.items():
        routes = [door for door in evidence.ways_in if door.kind == "route"]
        assert len(routes) == len(all_of(templates[name], "ApiGateway::Method"))


def test_routes_without_authorization_are_open_to_everybody(found: dict[str, Evidence]) -> None:
    open_routes = {door.where for door in found["open"].ways_in if "everybody" in door.sentence}
    assert "POST /generate" in open_routes
    assert not [door for door in found["qwen3-4b"].ways_in if door.kind == "route" and "everybody" in door.sentence]


def test_the_issuer_and_audience_of_tokens_are_a_way_in(found: dict[str, Evidence]) -> None:
    (said,) = [door.sentence for door in found["with-jwt"].ways_in if door.kind == "authorizer"]
    assert said == (
        "lets in tokens that https://login.example.com/tenant has signed for the audience llm or "
        "https://llm.example.com, with scope llm/call"
    )
    assert "administrators" in next(door.sentence for door in found["with-user-pool"].ways_in if "pool" in door.kind)


def test_a_link_to_a_result_is_a_way_in(found: dict[str, Evidence]) -> None:
    (said,) = [door.sentence for door in found["qwen3-4b"].ways_in if door.kind == "link"]
    assert said.endswith(f"for {files.LINK_IN_SECONDS // 60} minutes")
    assert files.LINK_IN_SECONDS == storage.LINK_IN_SECONDS


def test_the_page_counts_routes_of_functions_apart_from_fixed_answers(found: dict[str, Evidence]) -> None:
    top = page(found["with-api-key"])
    assert "| Routes that anybody may call | none, and 2 that API Gateway answers by itself |" in top
    assert "| Routes that anybody may call | none |" in page(found["qwen3-4b"])


def test_a_denial_does_not_count_as_a_permission(found: dict[str, Evidence]) -> None:
    """Lambda makes the interfaces of functions in a VPC with their role; their own code is denied to."""
    network = found["private-network"]
    all_of_them = [each for role in network.roles for each in role.permissions]
    allowed = [action for each in all_of_them if each.effect == "Allow" for action in each.actions]
    assert {each.effect for each in all_of_them} == {"Allow", "Deny"}
    assert f"with {len(allowed)} permissions; none without a reason |" in page(network)


def test_ports_that_a_group_opens_are_ways_in(found: dict[str, Evidence]) -> None:
    assert [door for door in found["private-network"].ways_in if door.kind == "security group"]


def test_a_principal_of_another_account_is_a_door(templates: dict[str, Template]) -> None:
    template = copy.deepcopy(templates["gpt2"])
    statement = {
        "Effect": "Allow",
        "Action": "sqs:SendMessage",
        "Principal": {"AWS": "arn:aws:iam::444455556666:root"},
        "Resource": "*",
    }
    policy = {"Queues": [{"Ref": "WorkQueueAD162499"}], "PolicyDocument": {"Statement": [statement]}}
    template["Resources"]["Planted"] = {"Type": "AWS::SQS::QueuePolicy", "Properties": policy}
    doors = evidence_of("gpt2", template, "us-east-1", None).ways_in
    assert [each for each in doors if each.where == "WorkQueue" and "444455556666" in each.sentence]


def test_a_planted_permission_has_no_reason(templates: dict[str, Template]) -> None:
    template = copy.deepcopy(templates["gpt2"])
    role = next(key for key in template["Resources"] if key.startswith("ApiRouteRole") and "Policy" not in key)
    statement = {
        "Effect": "Allow",
        "Action": "sqs:PurgeQueue",
        "Resource": {"Fn::GetAtt": ["WorkQueueAD162499", "Arn"]},
    }
    properties = {"PolicyName": "Planted", "Roles": [{"Ref": role}], "PolicyDocument": {"Statement": [statement]}}
    template["Resources"]["Planted"] = {"Type": "AWS::IAM::Policy", "Properties": properties}
    text = page(evidence_of("gpt2", template, "us-east-1", None))
    assert "| `sqs:PurgeQueue` | `WorkQueue` | none | not a permission of Slipway's |" in text


def test_a_resource_of_an_unknown_type_is_named(templates: dict[str, Template]) -> None:
    template = copy.deepcopy(templates["gpt2"])
    template["Resources"]["Planted"] = {"Type": "AWS::EFS::FileSystem", "Properties": {}}
    assert "Planted (AWS::EFS::FileSystem)" in page(evidence_of("gpt2", template, "us-east-1", None))


def test_pages_show_no_hash(found: dict[str, Evidence]) -> None:
    assert {name: noise for name, evidence in found.items() if (noise := HASH.findall(page(evidence)))} == {}


def test_equal_templates_give_equal_pages(found: dict[str, Evidence], templates: dict[str, Template]) -> None:
    again = json.loads(json.dumps(templates["qwen3-4b"], sort_keys=True))
    assert page(found["qwen3-4b"]) == page(evidence_of("qwen3-4b", again, "us-east-1", None))


@pytest.mark.parametrize(
    ("name", "kind", "encryption"),
    [
        ("isolated", "instances", f"the key {KEY}"),
        ("own-network", "disk of a machine", f"the key {KEY}"),
        ("qwen3-4b", "table", "a key that AWS owns"),
        ("qwen3-4b", "bucket", "keys of S3 (SSE-S3)"),
    ],
)
def test_the_key_of_a_resource_is_named(found: dict[str, Evidence], name: str, kind: str, encryption: str) -> None:
    assert {each.encryption for each in found[name].data if each.kind == kind} == {encryption}


def test_each_row_of_reasons_names_known_roles() -> None:
    known = {role.name for role in roles()}
    assert {role for row in reasons() for role in row.roles} <= known


def test_the_command_writes_a_page_of_a_template(
    stacks: dict[str, Stack], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, output = stacks["gpt2"].template_path, tmp_path / "page.md"
    monkeypatch.setattr(sys, "argv", ["slipway", "evidence", "gpt2", "--template", str(file), "--output", str(output)])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 0
    assert output.read_text() == page(of_file(file))


def statements_in(policy: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the statements of a policy's properties."""
    found: list[dict[str, Any]] = policy["PolicyDocument"]["Statement"]
    return found


def as_list(value: Any) -> list[Any]:
    """Return the value as a list: IAM takes one value for a list of one."""
    return value if isinstance(value, list) else [value]
