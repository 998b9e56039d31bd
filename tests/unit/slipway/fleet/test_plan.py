"""`fleet plan`: accounts of units, what happens in each, what it means and costs; `fleet status`."""

import json
import sys
from types import SimpleNamespace
from typing import Any

import pytest
from botocore.exceptions import NoCredentialsError

from llm_hosting.fleets.rules import RULES
from slipway.__main__ import main
from slipway.changes.gate import Acknowledgement
from slipway.fleet import plan_command, plan_page, status
from slipway.fleet.administration_role import role_findings
from slipway.fleet.plan import FleetPlan, make_plan
from support.deployments.fleets import (
    CANARY_UNIT,
    FIRST,
    INNER_UNIT,
    MANAGEMENT,
    SECOND,
    SELF_MANAGED,
    TEMPLATE,
    THIRD,
    UNIT,
    StandInAws,
    fleet,
    instance,
    rendered,
)
from support.repository import ROOT

ON = {"parameters": {"DeployEndpoint": "true"}}
EVERYWHERE = [
    ("chat-canary", FIRST, "us-east-1"),
    *(("chat", account, region) for account in (SECOND, THIRD) for region in ("us-east-1", "eu-west-1")),
]


def planned(
    aws: StandInAws, changes: dict[str, Any] | None = None, template: dict[str, Any] | None = None
) -> FleetPlan:
    made = rendered({"account_settings": False} | (changes or {}), template)
    return make_plan(made, [each for rule in RULES for each in rule.findings(made)], [], aws)


def actions(plan: FleetPlan) -> dict[tuple[str, str | None, str], str]:
    return {(each.stack_set, each.account, each.region): each.action for each in plan.targets.all}


def parent(model: str = "SERVICE_MANAGED", **groups: list[dict[str, Any]]) -> dict[str, Any]:
    """Template of the fleet's stack as deployed; groups: of each stack set, `_` in its name for `-`."""
    sets = {name: {"StackSetName": name.replace("_", "-"), "StackInstancesGroup": groups[name]} for name in groups}
    return {"Resources": {name: {"Properties": each | {"PermissionModel": model}} for name, each in sets.items()}}


def replacing_template() -> dict[str, Any]:
    return TEMPLATE | {"Resources": {"Table": {"Type": "AWS::DynamoDB::Table", "Properties": {"TableName": "other"}}}}


def test_before_the_first_deploy_everything_is_made() -> None:
    plan = planned(StandInAws())
    assert actions(plan) == dict.fromkeys(EVERYWHERE, "create")
    assert not plan.stops


def test_units_below_a_unit_count_and_the_management_account_and_closed_ones_do_not() -> None:
    aws = StandInAws()
    aws.units |= {UNIT: [SECOND, MANAGEMENT, INNER_UNIT], INNER_UNIT: [THIRD, "444444444444"]}
    aws.states = {"444444444444": "SUSPENDED"}
    plan = planned(aws)
    assert {each.account for each in plan.targets.all} == {FIRST, SECOND, THIRD}
    page = "\n".join(plan_page.lines(plan))
    assert f"left out: {MANAGEMENT}: the management account" in page
    assert "left out: 444444444444: suspended" in page


def test_what_runs_already_stays_as_it_is() -> None:
    aws = StandInAws()
    aws.deploy(rendered({"account_settings": False}), *EVERYWHERE)
    assert set(actions(planned(aws)).values()) == {"nothing"}


def test_a_stack_that_failed_is_updated_with_the_next_change_and_one_that_is_no_target_is_removed() -> None:
    aws = StandInAws()
    aws.deploy(rendered({"account_settings": False}), *EVERYWHERE, ("chat", "555555555555", "us-east-1"))
    aws.instances["chat"][0]["Status"] = "OUTDATED"
    plan = planned(aws)
    assert actions(plan)["chat", SECOND, "us-east-1"] == "failed"  # a deploy of an unchanged fleet does nothing
    assert "update-stack-instances --stack-set-name chat" in "\n".join(plan_page.lines(plan))
    assert actions(plan)["chat", "555555555555", "us-east-1"] == "remove"
    newer = planned(aws, {"parameters": {"ImageTag": "2.0"}})
    assert actions(newer)["chat", SECOND, "us-east-1"] == "update"


def test_an_account_that_leaves_the_canary_gets_a_new_stack_and_the_plan_says_so() -> None:
    aws = StandInAws()
    aws.deploy(rendered({"account_settings": False}), *EVERYWHERE)
    aws.units |= {CANARY_UNIT: [], UNIT: [FIRST, SECOND, THIRD]}
    plan = planned(aws)
    assert plan_page.content(plan)["moved"] == [{"account": FIRST, "region": "us-east-1"}]
    assert f"warning: {FIRST} in us-east-1 goes to another stack set" in "\n".join(plan_page.lines(plan))


@pytest.mark.parametrize(
    "dropped", [{"canary": None}, {"targets": [{"organizational_units": [UNIT], "regions": ["us-east-1"]}]}]
)
def test_a_service_that_a_deploy_deletes_stops_until_it_is_acknowledged(dropped: dict[str, Any]) -> None:
    aws = StandInAws()
    aws.deploy(rendered({"account_settings": False}), *EVERYWHERE)
    regions = ["us-east-1", "eu-west-1"]
    group = {"DeploymentTargets": {"OrganizationalUnitIds": [UNIT]}, "Regions": regions}
    canary = {"DeploymentTargets": {"OrganizationalUnitIds": [CANARY_UNIT]}, "Regions": ["us-east-1"]}
    aws.stacks["slipway-fleet-chat"] = parent(chat=[group], chat_canary=[canary])
    plan = planned(aws, dropped)
    (name,) = {place[0] for place, action in actions(plan).items() if action == "remove"}
    assert plan.stops
    assert f"error: {name} loses" in "\n".join(plan_page.lines(plan))
    assert not make_plan(plan.rendered, [], [Acknowledgement(name, "removed", "nobody calls it")], aws).stops


def test_account_settings_that_go_stop_nothing() -> None:
    aws = StandInAws()
    aws.deploy(rendered({}), *EVERYWHERE, ("chat-account-settings", SECOND, "us-east-1"))
    aws.stacks["slipway-fleet-chat"] = parent(chat_account_settings=[])
    plan = planned(aws)
    assert actions(plan)["chat-account-settings", SECOND, "us-east-1"] == "remove"
    assert not plan.removed


def test_another_permission_model_needs_another_fleet() -> None:
    aws = StandInAws()
    aws.stacks["slipway-fleet-chat"] = parent("SELF_MANAGED", chat=[])
    plan = planned(aws)
    assert plan.stops
    assert "error: chat is deployed with another permission model" in "\n".join(plan_page.lines(plan))


def test_the_page_counts_the_accounts_that_share_a_fate_and_the_json_names_each() -> None:
    aws = StandInAws()
    accounts = [f"{number:012}" for number in range(50)]
    aws.units[UNIT] = accounts
    plan = planned(aws)
    page = list(plan_page.lines(plan))
    assert sum("create" in line for line in page) == 3
    assert f"{', '.join(accounts[:3])} and 47 more" in "\n".join(page)
    assert len(plan_page.content(plan)["targets"]) == 101


def test_accounts_that_joined_or_left_a_unit_since_the_last_deploy_are_left_alone() -> None:
    aws = StandInAws()
    aws.deploy(rendered({"account_settings": False}), *EVERYWHERE)
    regions = ["us-east-1", "eu-west-1"]
    group = {"DeploymentTargets": {"OrganizationalUnitIds": [UNIT], "AccountFilterType": "NONE"}, "Regions": regions}
    aws.stacks["slipway-fleet-chat"] = parent(chat=[group])
    joined = "444444444444"
    aws.units[UNIT] = [SECOND, joined]
    plan = planned(aws, {"targets": [{"organizational_units": [UNIT], "regions": [*regions, "eu-west-3"]}]})
    found = actions(plan)
    assert found["chat", joined, "us-east-1"] == "left alone"
    assert found["chat", joined, "eu-west-3"] == "create"
    assert found["chat", THIRD, "us-east-1"] == "left alone"
    assert "has left its unit, and keeps the stack" in "\n".join(plan_page.lines(plan))


def test_an_override_of_one_group_updates_its_stacks_alone() -> None:
    aws = StandInAws()
    aws.deploy(rendered({"account_settings": False}), *EVERYWHERE)
    targets = [
        {"organizational_units": [UNIT], "regions": ["us-east-1"]},
        {"organizational_units": [UNIT], "regions": ["eu-west-1"], "parameters": {"ImageTag": "2.0"}},
    ]
    found = actions(planned(aws, {"targets": targets}))
    assert {place for place, action in found.items() if action == "update"} == {
        ("chat", SECOND, "eu-west-1"),
        ("chat", THIRD, "eu-west-1"),
    }


def test_an_update_that_replaces_data_stops_until_it_is_acknowledged() -> None:
    aws = StandInAws()
    aws.deploy(rendered({"account_settings": False}), *EVERYWHERE)
    plan = planned(aws, template=replacing_template())
    assert plan.stops
    page = "\n".join(plan_page.lines(plan))
    assert f"chat         {SECOND}, {THIRD}  us-east-1, eu-west-1  update" in page
    assert "TableName" in page
    meant = [Acknowledgement("Table", kind, "the table is empty") for kind in ("replaced", "data-loss")]
    assert not make_plan(plan.rendered, [], meant, aws).stops


def test_cost_and_quotas_are_those_of_endpoints_that_are_on() -> None:
    targets = [
        {"organizational_units": [UNIT], "regions": ["us-east-1"]},
        {"organizational_units": [UNIT], "regions": ["eu-west-1"], "parameters": {"InstanceCount": "2"}},
    ]
    plan = planned(StandInAws(), ON | {"targets": targets, "canary": None})
    found = plan_page.content(plan)
    rate = plan.rendered.resolution.placements[0].instance.usd_per_hour
    assert rate
    assert found["usd_per_hour"]["least"] == pytest.approx(6 * rate, abs=0.05)
    assert {(each["name"], each["size"]) for each in found["quotas"]} == {
        ("ml.g6.2xlarge for endpoint usage", 2),
        ("ml.g6.2xlarge for endpoint usage", 4),
    }
    off = planned(StandInAws())
    told = plan_page.content(off)
    assert told["usd_per_hour"]["most"] == 0
    assert told["usd_per_hour_with_endpoints"]["most"] == pytest.approx(5 * rate, abs=0.05)
    assert [each["is_on"] for each in told["quotas"]] == [False]
    assert "quota: if DeployEndpoint were true: 2 of" in "\n".join(plan_page.lines(off))


def test_where_organizations_refuses_the_plan_says_so_and_names_the_stacks_that_there_are() -> None:
    aws = StandInAws()
    aws.deploy(rendered({"account_settings": False}))
    aws.instances["chat"] = [instance(SECOND, "us-east-1", OrganizationalUnitId=UNIT)]
    aws.is_closed = True
    plan = planned(aws)
    found = actions(plan)
    assert found["chat", SECOND, "us-east-1"] == "nothing"
    assert found["chat", None, "eu-west-1"] == "not known"
    assert "unknown: the accounts of units: AWS does not allow" in "\n".join(plan_page.lines(plan))


def test_a_unit_inside_another_stops_because_two_services_would_run_there() -> None:
    aws = StandInAws()
    aws.units |= {UNIT: [SECOND, CANARY_UNIT]}
    plan = planned(aws)
    assert plan.stops
    assert plan_page.content(plan)["reached_twice"] == [{"account": FIRST, "region": "us-east-1"}]


def test_a_self_managed_fleet_asks_no_organization() -> None:
    aws = StandInAws()
    aws.is_closed = True
    plan = planned(aws, SELF_MANAGED)
    assert actions(plan) == dict.fromkeys([*EVERYWHERE, ("chat", FIRST, "eu-west-1")], "create")
    assert aws.callers == {"SELF"}


def test_a_delegated_administrator_says_so_in_each_call() -> None:
    aws = StandInAws()
    planned(aws)
    assert aws.callers == {"DELEGATED_ADMIN"}


def test_status_says_what_runs_where_and_why_a_stack_failed() -> None:
    aws = StandInAws()
    made = rendered({"account_settings": False})
    aws.deploy(made, *EVERYWHERE)
    assert not status.state_of("chat", fleet({}), aws)["failed"]
    aws.instances["chat"][1] |= {
        "Status": "OUTDATED",
        "StackInstanceStatus": {"DetailedStatus": "FAILED"},
        "StatusReason": "no quota",
    }
    aws.operations["chat"] = [{"OperationId": "1", "Action": "UPDATE", "Status": "FAILED"}]
    found = status.state_of("chat", fleet({}), aws)
    assert found["failed"]
    page = "\n".join(status.lines(found))
    assert f"chat         {SECOND}  eu-west-1  FAILED   as before {made.stack_sets[-1].version}  no quota" in page
    assert f"chat-canary  {FIRST}  us-east-1  CURRENT  {made.stack_sets[0].version}" in page


def test_status_of_a_fleet_that_is_not_deployed() -> None:
    found = status.state_of("chat", fleet({}), StandInAws())
    assert found["failed"]
    assert list(status.lines(found)) == ["chat: not deployed"]


def test_status_names_the_fleets_own_stack_where_its_deploy_was_rolled_back() -> None:
    aws = StandInAws()
    aws.own_stack = ("ROLLBACK_COMPLETE", "no account\nassumes the role")
    found = status.state_of("chat", fleet({}), aws)
    assert found["failed"]
    assert list(status.lines(found)) == [
        "chat: something failed",
        "  slipway-fleet-chat: ROLLBACK_COMPLETE: Service (AWS::CloudFormation::StackSet): no account assumes the role",
        "  no stack set: nothing is deployed",
    ]


def test_an_update_that_was_rolled_back_is_a_failure_although_each_stack_is_current() -> None:
    aws = StandInAws()
    aws.deploy(rendered({"account_settings": False}), *EVERYWHERE)
    aws.own_stack = ("UPDATE_COMPLETE", "")
    assert not status.state_of("chat", fleet({}), aws)["failed"]
    aws.own_stack = ("UPDATE_ROLLBACK_COMPLETE", "not stable")
    assert status.state_of("chat", fleet({}), aws)["failed"]


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ({}, "AWSCloudFormationStackSetAdministrationRole"),
        ({"administration_role_arn": "arn:aws:iam::111111111111:role/path/Sets"}, "Sets"),
    ],
)
def test_a_self_managed_fleet_needs_the_administration_role(given: dict[str, str], name: str) -> None:
    aws, asked = StandInAws(), fleet(SELF_MANAGED | given)
    (finding,) = role_findings(asked, aws)
    assert (finding.level, finding.problem) == ("error", f"the account that deploys has no role {name}")
    made = rendered({"account_settings": False} | SELF_MANAGED)
    assert make_plan(made, [finding], [], aws).stops
    aws.roles = [name]
    assert list(role_findings(asked, aws)) == []
    aws.is_closed = True
    assert [each.level for each in role_findings(asked, aws)] == ["unknown"]
    assert list(role_findings(fleet({}), aws)) == []


def test_credentials_are_asked_for_before_the_synth(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    aws = StandInAws()

    def refuse() -> None:
        raise NoCredentialsError

    monkeypatch.setattr(aws, "get_caller_identity", refuse)
    monkeypatch.setattr("boto3.Session", lambda: SimpleNamespace(client=lambda service, region_name: aws))
    monkeypatch.setattr(plan_command, "in_app", lambda *_: pytest.fail("synthesized"))
    assert plan_command.run("qwen3-4b", ROOT, None, as_json=False) == 2
    assert capsys.readouterr().err.startswith("There are no AWS credentials: ")


@pytest.mark.slow
def test_the_plan_of_the_example_by_the_command_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    aws = StandInAws()
    aws.units = {"ou-xxxx-yourcanaryunit": [FIRST], "ou-xxxx-yourworkloads": [SECOND]}
    monkeypatch.setattr("boto3.Session", lambda: SimpleNamespace(client=lambda service, region_name: aws))
    monkeypatch.setattr(sys, "argv", ["slipway", "fleet", "plan", "qwen3-4b", "--json"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 0
    found = json.loads(capsys.readouterr().out)
    assert [each["name"] for each in found["stack_sets"]] == [
        *("qwen3-4b-account-settings", "qwen3-4b-canary", "qwen3-4b")
    ]
    assert {each["action"] for each in found["targets"]} == {"create"}
