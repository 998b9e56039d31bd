"""The local CloudFormation retains, deletes and refuses resources as AWS does."""

import json
from typing import Any

import pytest
from botocore.exceptions import ClientError

from local_cloud.cloud import LocalCloud
from support.stacks.small_stacks import (
    REGION,
    Resources,
    StackFailedError,
    arn,
    create,
    delete,
    function,
    resource,
    update,
)

TAGS = [{"Key": "slipway:deployment", "Value": "kept"}]
RETAIN = {"DeletionPolicy": "RetainExceptOnCreate", "UpdateReplacePolicy": "Retain"}


def table(*, key: str = "pk", **properties: Any) -> dict[str, Any]:
    keys = {
        "KeySchema": [{"AttributeName": key, "KeyType": "HASH"}],
        "AttributeDefinitions": [{"AttributeName": key, "AttributeType": "S"}],
    }
    return resource("DynamoDB::Table", {"BillingMode": "PAY_PER_REQUEST", "Tags": TAGS} | keys | properties, **RETAIN)


def stores() -> Resources:
    return {
        "Table": table(),
        "Bucket": resource("S3::Bucket", {"Tags": TAGS, "VersioningConfiguration": {"Status": "Enabled"}}, **RETAIN),
        "Log": resource("Logs::LogGroup", {"Tags": TAGS}, **RETAIN),
    }


def fill(cloud: LocalCloud, ids: dict[str, str]) -> None:
    cloud.client("dynamodb", region=REGION).put_item(TableName=ids["Table"], Item={"pk": {"S": "row"}})
    cloud.client("s3", region=REGION).put_object(Bucket=ids["Bucket"], Key="key", Body=b"text")


def assert_full(cloud: LocalCloud, ids: dict[str, str]) -> None:
    dynamodb, s3 = cloud.client("dynamodb", region=REGION), cloud.client("s3", region=REGION)
    assert dynamodb.get_item(TableName=ids["Table"], Key={"pk": {"S": "row"}})["Item"] == {"pk": {"S": "row"}}
    assert s3.get_object(Bucket=ids["Bucket"], Key="key")["Body"].read() == b"text"


def test_a_retained_resource_stays_unchanged_when_the_stack_is_created_again(bare_cloud: LocalCloud) -> None:
    ids = create(bare_cloud, "kept", stores())
    fill(bare_cloud, ids)
    delete(bare_cloud, "kept")
    assert_full(bare_cloud, ids)
    again = create(bare_cloud, "kept", stores())
    assert set(again.values()).isdisjoint(ids.values())
    assert_full(bare_cloud, ids)


def test_what_is_retained_except_on_create_goes_with_a_create_that_fails(bare_cloud: LocalCloud) -> None:
    broken = function("def handler(event, context): ...", Runtime="python9.9", Role="arn:aws:iam::1:role/none")
    resources = stores() | {"Broken": broken | {"DependsOn": list(stores())}}
    with pytest.raises(StackFailedError, match="ROLLBACK_COMPLETE"):
        create(bare_cloud, "stillborn", resources)
    tables = bare_cloud.client("dynamodb", region=REGION).list_tables()["TableNames"]
    buckets = [each["Name"] for each in bare_cloud.client("s3", region=REGION).list_buckets()["Buckets"]]
    groups = bare_cloud.client("logs", region=REGION).describe_log_groups()["logGroups"]
    left = [*tables, *buckets, *(group["logGroupName"] for group in groups)]
    assert [name for name in left if "stillborn" in name] == []


def test_a_table_that_an_update_replaces_is_kept(bare_cloud: LocalCloud) -> None:
    ids = create(bare_cloud, "rekeyed", stores())
    fill(bare_cloud, ids)
    replaced = update(bare_cloud, "rekeyed", stores() | {"Table": table(key="id")})
    assert replaced["Table"] != ids["Table"]
    assert_full(bare_cloud, ids)


def test_a_bucket_with_objects_is_not_deleted(bare_cloud: LocalCloud) -> None:
    ids = create(
        bare_cloud, "full", {"Bucket": resource("S3::Bucket", {"VersioningConfiguration": {"Status": "Enabled"}})}
    )
    s3 = bare_cloud.client("s3", region=REGION)
    version = s3.put_object(Bucket=ids["Bucket"], Key="key", Body=b"text")["VersionId"]
    marker = s3.delete_object(Bucket=ids["Bucket"], Key="key")["VersionId"]
    with pytest.raises(StackFailedError, match=r"DELETE_FAILED.*not empty"):
        delete(bare_cloud, "full")
    for each in (version, marker):
        s3.delete_object(Bucket=ids["Bucket"], Key="key", VersionId=each)
    delete(bare_cloud, "full")


def test_a_protected_table_is_not_deleted(bare_cloud: LocalCloud) -> None:
    unprotected = {"Table": table(DeletionProtectionEnabled=False) | {"DeletionPolicy": "Delete"}}
    protected = {"Table": table(DeletionProtectionEnabled=True) | {"DeletionPolicy": "Delete"}}
    ids = create(bare_cloud, "protected", protected)
    with pytest.raises(StackFailedError, match=r"DELETE_FAILED.*protected against deletion"):
        delete(bare_cloud, "protected")
    dynamodb = bare_cloud.client("dynamodb", region=REGION)
    with pytest.raises(ClientError, match="protected against deletion"):
        dynamodb.delete_table(TableName=ids["Table"])
    create(bare_cloud, "unprotected", protected)
    update(bare_cloud, "unprotected", unprotected)
    delete(bare_cloud, "unprotected")


def test_what_is_left_is_found_by_its_tags_and_can_be_removed(bare_cloud: LocalCloud) -> None:
    tag = {"Key": "slipway:deployment", "Value": "purged"}
    resources = stores()
    for each in resources.values():
        each["Properties"]["Tags"] = [tag]
    ids = create(bare_cloud, "purged", resources)
    fill(bare_cloud, ids)
    delete(bare_cloud, "purged")
    tagging = bare_cloud.client("resourcegroupstaggingapi", region=REGION)

    def found(*types: str) -> set[str]:
        wanted = {"TagFilters": [{"Key": tag["Key"], "Values": [tag["Value"]]}]}
        answer = tagging.get_resources(**wanted, ResourceTypeFilters=list(types))["ResourceTagMappingList"]
        return {each["ResourceARN"] for each in answer}

    left = {
        "dynamodb:table": arn("dynamodb", f"table/{ids['Table']}"),
        "s3": f"arn:aws:s3:::{ids['Bucket']}",
        "logs:log-group": arn("logs", f"log-group:{ids['Log']}"),
    }
    assert {kind: found(kind) for kind in left} == {kind: {each} for kind, each in left.items()}
    s3 = bare_cloud.client("s3", region=REGION)
    for version in s3.list_object_versions(Bucket=ids["Bucket"])["Versions"]:
        s3.delete_object(Bucket=ids["Bucket"], Key=version["Key"], VersionId=version["VersionId"])
    s3.delete_bucket(Bucket=ids["Bucket"])
    bare_cloud.client("dynamodb", region=REGION).delete_table(TableName=ids["Table"])
    bare_cloud.client("logs", region=REGION).delete_log_group(logGroupName=ids["Log"])
    assert found(*left) == set()


def test_a_log_group_that_exists_is_not_taken_over(bare_cloud: LocalCloud) -> None:
    bare_cloud.client("logs", region=REGION).create_log_group(logGroupName="/known")
    with pytest.raises(StackFailedError, match="already exists"):
        create(bare_cloud, "taking-over", {"Log": resource("Logs::LogGroup", {"LogGroupName": "/known"})})


def test_the_summary_of_a_stack_holds_the_metadata_of_its_template(bare_cloud: LocalCloud) -> None:
    cloudformation = bare_cloud.client("cloudformation", region=REGION)
    template = {"Metadata": {"Own": {"text": "<&>"}}, "Resources": {"Queue": resource("SQS::Queue")}}
    cloudformation.create_stack(StackName="summarized", TemplateBody=json.dumps(template))
    summary = cloudformation.get_template_summary(StackName="summarized")
    assert json.loads(summary["Metadata"]) == {"Own": {"text": "<&>"}}
    assert summary["ResourceTypes"] == ["AWS::SQS::Queue"]


def test_a_stack_has_the_description_of_its_template_also_by_a_change_set(bare_cloud: LocalCloud) -> None:
    """The CDK's command line deploys with change sets."""
    cloudformation = bare_cloud.client("cloudformation", region=REGION)
    for kind, described in (("CREATE", "first"), ("UPDATE", "second")):
        template = {"Description": described, "Resources": {described: resource("SQS::Queue")}}
        names = {"StackName": "described", "ChangeSetName": described}
        cloudformation.create_change_set(**names, ChangeSetType=kind, TemplateBody=json.dumps(template))
        cloudformation.execute_change_set(**names)
        waiter = cloudformation.get_waiter(f"stack_{kind.lower()}_complete")
        waiter.wait(StackName="described", WaiterConfig={"Delay": 1})
        (stack,) = cloudformation.describe_stacks(StackName="described")["Stacks"]
        assert stack["Description"] == described


def test_a_stack_is_as_old_as_the_clouds_clock_says(bare_cloud: LocalCloud) -> None:
    bare_cloud.advance(7200)
    create(bare_cloud, "young", {"Log": resource("Logs::LogGroup", {})})
    (stack,) = bare_cloud.client("cloudformation", region=REGION).describe_stacks(StackName="young")["Stacks"]
    assert stack["CreationTime"].timestamp() == pytest.approx(bare_cloud.now(), abs=600)
