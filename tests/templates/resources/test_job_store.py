"""Where jobs are kept, as the template has it: indexes, retention, encryption, and what outlives the stack."""

from typing import Any

import pytest

from support.templates.template_parts import Template, only, properties

KEPT, DELETED = "RetainExceptOnCreate", "Delete"


def test_the_table_is_billed_by_use_backed_up_and_deletes_expired_items(templates: dict[str, Template]) -> None:
    table = properties(templates["gpt2"], "DynamoDB::Table")
    assert table["BillingMode"] == "PAY_PER_REQUEST"
    assert table["PointInTimeRecoverySpecification"] == {"PointInTimeRecoveryEnabled": True}
    assert table["TimeToLiveSpecification"] == {"AttributeName": "expires_at", "Enabled": True}
    assert table["KeySchema"] == [{"AttributeName": "pk", "KeyType": "HASH"}]


def test_indexes_hold_keys_only_so_that_no_change_of_a_row_is_written_twice(templates: dict[str, Template]) -> None:
    table = properties(templates["gpt2"], "DynamoDB::Table")
    kinds = {each["AttributeName"]: each["AttributeType"] for each in table["AttributeDefinitions"]}
    indexes = {
        index["IndexName"]: [(key["AttributeName"], kinds[key["AttributeName"]]) for key in index["KeySchema"]]
        for index in table["GlobalSecondaryIndexes"]
    }
    assert indexes == {
        "by_owner": [("owner", "S"), ("listed_at", "S")],
        "by_due": [("due_shard", "S"), ("due_at", "N")],
    }
    assert {index["Projection"]["ProjectionType"] for index in table["GlobalSecondaryIndexes"]} == {"KEYS_ONLY"}


def test_the_bucket_is_private_encrypted_versioned_and_takes_tls_only(templates: dict[str, Template]) -> None:
    template = templates["gpt2"]
    bucket = properties(template, "S3::Bucket")
    assert set(bucket["PublicAccessBlockConfiguration"].values()) == {True}
    assert bucket["VersioningConfiguration"] == {"Status": "Enabled"}
    (rule,) = bucket["BucketEncryption"]["ServerSideEncryptionConfiguration"]
    assert rule["ServerSideEncryptionByDefault"] == {"SSEAlgorithm": "AES256"}
    (denied,) = properties(template, "S3::BucketPolicy")["PolicyDocument"]["Statement"]
    assert (denied["Effect"], denied["Principal"], denied["Action"]) == ("Deny", {"AWS": "*"}, "s3:*")
    assert denied["Condition"] == {"Bool": {"aws:SecureTransport": "false"}}


@pytest.mark.parametrize(
    ("name", "days"),
    [
        ("gpt2", 9),  # 168 h and 1 h in days, rounded up, plus one
        ("qwen3-4b-async", 9),  # 168 h and 2 h
        ("small-limits", 2),  # 1 h and 7 minutes
    ],
)
def test_no_file_expires_before_its_row(templates: dict[str, Template], name: str, days: int) -> None:
    (rule,) = properties(templates[name], "S3::Bucket")["LifecycleConfiguration"]["Rules"]
    assert rule == {
        "Status": "Enabled",
        "ExpirationInDays": days,
        "NoncurrentVersionExpiration": {"NoncurrentDays": days},  # a job's pinned version may be an older one
        "AbortIncompleteMultipartUpload": {"DaysAfterInitiation": days},
    }


@pytest.mark.parametrize(("name", "table"), [("gpt2", KEPT), ("async", KEPT), ("small-limits", DELETED)])
def test_results_outlive_the_stack_unless_the_deployment_says_otherwise(
    templates: dict[str, Template], name: str, table: str
) -> None:
    template = templates[name]
    assert only(template, "DynamoDB::Table")["DeletionPolicy"] == table
    # CloudFormation deletes empty buckets only.
    assert only(template, "S3::Bucket")["DeletionPolicy"] == KEPT
    assert only(template, "S3::BucketPolicy")["DeletionPolicy"] == KEPT


@pytest.mark.parametrize(("name", "protected"), [("gpt2", False), ("own-image", True)])
def test_the_table_can_be_protected_from_deletion(templates: dict[str, Template], name: str, protected: bool) -> None:
    assert properties(templates[name], "DynamoDB::Table")["DeletionProtectionEnabled"] is protected


@pytest.mark.parametrize("kind", ["DynamoDB::Table", "S3::Bucket"])
def test_table_and_bucket_are_tagged_with_the_stacks_name(templates: dict[str, Template], kind: str) -> None:
    tag: dict[str, Any] = {"Key": "slipway:deployment", "Value": {"Ref": "AWS::StackName"}}
    assert tag in properties(templates["small-limits"], kind)["Tags"]
