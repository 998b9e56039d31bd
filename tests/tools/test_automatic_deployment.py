"""A stack that a set can't delete when its account leaves."""

import json
from typing import Any

import pytest

from local_cloud.cloud import LocalCloud
from support.organizations import REGION, Organization, Sets
from support.patience import wait_for
from support.small_stacks import create, resource

BUCKET = {"Resources": {"Bucket": resource("S3::Bucket")}}


@pytest.fixture(scope="module")
def organization(bare_cloud: LocalCloud) -> Organization:
    return Organization(bare_cloud)


@pytest.fixture(scope="module")
def sets(bare_cloud: LocalCloud) -> Sets:
    return Sets(bare_cloud)


def automatic(name: str, unit: str, template: Any) -> dict[str, Any]:
    group = {"DeploymentTargets": {"OrganizationalUnitIds": [unit]}, "Regions": [REGION]}
    return resource(
        "CloudFormation::StackSet",
        {
            "StackSetName": name,
            "PermissionModel": "SERVICE_MANAGED",
            "AutoDeployment": {"Enabled": True, "RetainStacksOnAccountRemoval": False},
            "TemplateBody": json.dumps(template),
            "StackInstancesGroup": [group],
        },
    )


def test_a_stack_that_can_not_be_deleted_is_inoperable(
    bare_cloud: LocalCloud, organization: Organization, sets: Sets
) -> None:
    unit = organization.unit("full")
    account = organization.account(unit)
    create(bare_cloud, "full", {"Set": automatic("full", unit, BUCKET)})
    s3 = organization.client("s3", account)
    bucket = s3.list_buckets()["Buckets"][0]["Name"]
    s3.put_object(Bucket=bucket, Key="key", Body=b"text")
    organization.move(account, unit, organization.root)
    failed = {(account, REGION): ("INOPERABLE", "INOPERABLE")}
    wait_for(lambda: sets.instances("full") == failed or None, "the failed delete")
    assert organization.stacks(account) == {"full": "DELETE_FAILED"}
    s3.delete_object(Bucket=bucket, Key="key")
