"""Stack sets deploy to accounts and regions of the local cloud in the order and within the tolerance of AWS."""

import json
from typing import Any

import pytest

from local_cloud.cloud import LocalCloud
from support.organizations import REGION, Organization, Sets
from support.small_stacks import create, resource

TEMPLATE = {
    "Parameters": {"Value": {"Type": "String", "Default": "one"}},
    "Resources": {
        "Note": resource("SSM::Parameter", {"Name": "/note", "Type": "String", "Value": {"Ref": "Value"}}),
    },
}


@pytest.fixture(scope="module")
def organization(bare_cloud: LocalCloud) -> Organization:
    return Organization(bare_cloud)


@pytest.fixture(scope="module")
def sets(bare_cloud: LocalCloud) -> Sets:
    return Sets(bare_cloud)


def group(*units: str, regions: tuple[str, ...] = (REGION,), **more: Any) -> dict[str, Any]:
    overrides = {"ParameterOverrides": more.pop("overrides")} if "overrides" in more else {}
    return {"DeploymentTargets": {"OrganizationalUnitIds": list(units)} | more, "Regions": list(regions)} | overrides


def stack_set(name: str, *groups: dict[str, Any], template: Any = TEMPLATE, **properties: Any) -> dict[str, Any]:
    own = {
        "StackSetName": name,
        "PermissionModel": "SERVICE_MANAGED",
        "AutoDeployment": {"Enabled": False},
        "TemplateBody": json.dumps(template),
        "StackInstancesGroup": list(groups),
    }
    return resource("CloudFormation::StackSet", own | properties)


def note(organization: Organization, account: str, region: str = REGION) -> str:
    found = organization.client("ssm", account, region).get_parameter(Name="/note")
    return str(found["Parameter"]["Value"])


def test_every_account_of_a_unit_and_of_the_units_in_it_gets_its_own_stack(
    bare_cloud: LocalCloud, organization: Organization, sets: Sets
) -> None:
    unit = organization.unit("all")
    accounts = [organization.account(unit), organization.account(organization.unit("inner", unit))]
    create(bare_cloud, "all", {"Set": stack_set("all", group(unit))})
    for account in accounts:
        assert organization.stacks(account) == {"all": "CREATE_COMPLETE"}
        assert note(organization, account) == "one"
    assert sets.instances("all") == {(account, REGION): ("CURRENT", "SUCCEEDED") for account in accounts}
    assert sets.operations("all") == [("CREATE", "SUCCEEDED")]
