"""The stack of a fleet: three stack sets in their order, over a template in the CDK's bucket."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import aws_cdk as cdk
import pytest
from aws_cdk.assertions import Match, Template

from llm_hosting.installed_version import installed_version
from local_cloud.checks import lint
from slipway.changes.template.reading import read_template
from slipway_stacks.fleet_from_context import add_fleet
from slipway_stacks.fleet_stack import FleetStack
from support.deployments.fleets import FIRST, MANAGEMENT, SECOND, SELF_MANAGED, THIRD, UNIT, rendered
from support.repository import ROOT

SET = "AWS::CloudFormation::StackSet"


def synthesized(changes: dict[str, Any]) -> Template:
    app = cdk.App()
    return Template.from_stack(FleetStack(app, "slipway-fleet-chat", rendered=rendered(changes)))


def stack_set(template: Template, name: str) -> dict[str, Any]:
    (found,) = template.find_resources(SET, {"Properties": {"StackSetName": name}}).values()
    return dict(found)


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Synthesize the fleet in fleets/ by the app, with cdk-nag, and return the folder."""
    folder = tmp_path_factory.mktemp("fleet")
    context = json.loads((ROOT / "cdk.json").read_text())["context"] | {"fleet": "qwen3-4b"}
    environment = os.environ | {"CDK_CONTEXT_JSON": json.dumps(context), "CDK_OUTDIR": str(folder)}
    command = [sys.executable, "app.py"]
    result = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    assert "qwen3-4b-account-settings, then qwen3-4b-canary, then qwen3-4b" in result.stderr
    return folder


def test_the_example_is_lintable_and_its_asset_is_the_portable_template(example: Path) -> None:
    path = example / "slipway-fleet-qwen3-4b.template.json"
    lint([path], ["us-east-1", "eu-west-1"])
    service = stack_set(Template.from_json(json.loads(path.read_text())), "qwen3-4b")["Properties"]
    key = service["TemplateURL"]["Fn::Sub"].rpartition("/")[2]
    template = read_template(example / f"asset.{key}")
    assert "AWS::SageMaker::Endpoint" in {each["Type"] for each in template["Resources"].values()}
    assert {each["ParameterKey"] for each in service["Parameters"]} <= template["Parameters"].keys()


def test_account_settings_come_first_and_the_canary_before_all_others() -> None:
    template = synthesized({})
    template.has_resource(SET, {"Properties": {"StackSetName": "chat-canary"}, "DependsOn": ["AccountSettings"]})
    template.has_resource(SET, {"Properties": {"StackSetName": "chat"}, "DependsOn": ["AccountSettings", "Canary"]})


def test_nobody_deletes_a_fleet_by_one_command(tmp_path: Path) -> None:
    app = cdk.App(outdir=str(tmp_path))
    assert FleetStack(app, "fleet", rendered=rendered({})).termination_protection


def test_a_service_managed_set_goes_to_units_as_the_delegated_administrator() -> None:
    synthesized({}).has_resource_properties(
        SET,
        {
            "StackSetName": "chat",
            "PermissionModel": "SERVICE_MANAGED",
            "CallAs": "DELEGATED_ADMIN",
            "Capabilities": ["CAPABILITY_IAM"],
            "ManagedExecution": {"Active": True},
            "AutoDeployment": {"Enabled": False, "RetainStacksOnAccountRemoval": Match.absent()},
            "Parameters": [{"ParameterKey": "ApiAccessLogs", "ParameterValue": "true"}],
            "StackInstancesGroup": [
                {
                    "DeploymentTargets": {"OrganizationalUnitIds": [UNIT], "AccountFilterType": Match.absent()},
                    "Regions": ["us-east-1", "eu-west-1"],
                }
            ],
        },
    )


def test_a_self_managed_set_goes_to_accounts_with_the_roles_of_the_file() -> None:
    role = "arn:aws:iam::111122223333:role/StackSets"
    template = synthesized(SELF_MANAGED | {"administration_role_arn": role, "execution_role_name": "Deployer"})
    found = stack_set(template, "chat")["Properties"]
    assert (found["PermissionModel"], found["AdministrationRoleARN"], found["ExecutionRoleName"]) == (
        *("SELF_MANAGED", role),
        "Deployer",
    )
    assert found.keys().isdisjoint({"CallAs", "AutoDeployment"})
    assert [each["DeploymentTargets"] for each in found["StackInstancesGroup"]] == [
        {"Accounts": [SECOND, THIRD]},
        {"Accounts": [FIRST, SECOND, THIRD]},
    ]
    assert [each["Regions"] for each in found["StackInstancesGroup"]] == [["us-east-1"], ["eu-west-1"]]


def test_preferences_of_the_rollout_do_not_loosen_the_canary() -> None:
    rollout = {
        "region_order": ["eu-west-1", "us-east-1"],
        "regions": "parallel",
        "failure_tolerance": "10%",
        "max_concurrent": 4,
        "concurrency": "soft",
    }
    template = synthesized({"rollout": rollout})
    assert stack_set(template, "chat")["Properties"]["OperationPreferences"] == {
        "RegionOrder": ["eu-west-1", "us-east-1"],
        "RegionConcurrencyType": "PARALLEL",
        "FailureTolerancePercentage": 10,
        "MaxConcurrentCount": 4,
        "ConcurrencyMode": "SOFT_FAILURE_TOLERANCE",
    }
    assert stack_set(template, "chat-canary")["Properties"]["OperationPreferences"] == {
        "RegionOrder": ["us-east-1"],
        "RegionConcurrencyType": "PARALLEL",
        "FailureToleranceCount": 0,
        "MaxConcurrentCount": 1,
        "ConcurrencyMode": "STRICT_FAILURE_TOLERANCE",
    }


def test_in_an_account_that_joins_the_settings_come_first_too() -> None:
    changes = {
        "auto_deployment": {"enabled": True, "retain_on_removal": True},
        "management_account": MANAGEMENT,
        "canary": {
            "organizational_units": [UNIT],
            "accounts": [FIRST],
            "account_filter": "intersection",
            "regions": ["us-east-1"],
        },
    }
    template = synthesized(changes)
    automatic = stack_set(template, "chat")["Properties"]["AutoDeployment"]
    assert automatic["Enabled"]
    assert automatic["RetainStacksOnAccountRemoval"]
    assert MANAGEMENT in json.dumps(automatic["DependsOn"])
    assert {"Ref": "AccountSettings"} in automatic["DependsOn"][0]["Fn::Join"][1]
    # If the canary is single accounts, its stack set would serve an account that joins a second time.
    assert stack_set(template, "chat-canary")["Properties"]["AutoDeployment"] == {"Enabled": False}


def test_values_of_a_group_override_those_of_the_set() -> None:
    targets = [{"organizational_units": [UNIT], "regions": ["us-east-1"], "parameters": {"DeployEndpoint": "true"}}]
    (group,) = stack_set(synthesized({"targets": targets}), "chat")["Properties"]["StackInstancesGroup"]
    assert group["ParameterOverrides"] == [{"ParameterKey": "DeployEndpoint", "ParameterValue": "true"}]


def test_without_canary_and_account_settings_there_is_one_set() -> None:
    template = synthesized({"canary": None, "account_settings": False})
    template.resource_count_is(SET, 1)
    assert "DependsOn" not in stack_set(template, "chat")


def test_a_wrong_fleet_is_refused_with_all_its_problems(tmp_path: Path) -> None:
    (path := tmp_path / "chat.yaml").write_text("deployment: qwen3-4b\ntarget: []\n")
    with pytest.raises(SystemExit, match=r"chat\.yaml is refused: 2 problems") as refused:
        add_fleet(cdk.App(context={"fleet": str(path)}), ROOT)
    assert f"target: is not a known key of Slipway {installed_version()}; rename it to `targets`" in str(refused.value)


def test_a_fleet_beside_a_deployment_is_refused() -> None:
    with pytest.raises(SystemExit, match="name one of the two"):
        add_fleet(cdk.App(context={"fleet": "qwen3-4b", "deployment": "gpt2"}), ROOT)


def test_an_unknown_fleet_is_answered_with_the_known_ones() -> None:
    with pytest.raises(SystemExit, match=r"There is no fleet 'chat' in fleets/ \(qwen3-4b\)"):
        add_fleet(cdk.App(context={"fleet": "chat"}), ROOT)
