"""DynamoDB tables get the settings that MiniStack leaves out; transactions can be repeated."""

import pytest
from botocore.exceptions import ClientError

from local_cloud.cloud import LocalCloud
from support.stacks.small_stacks import REGION, create, delete, resource, statement

TABLE = {
    "BillingMode": "PAY_PER_REQUEST",
    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
    "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
    "TimeToLiveSpecification": {"AttributeName": "expires_at", "Enabled": True},
}


def test_the_time_to_live_of_the_template_is_that_of_the_table(bare_cloud: LocalCloud) -> None:
    name = create(bare_cloud, "expiring", {"Table": resource("DynamoDB::Table", TABLE)})["Table"]
    found = bare_cloud.client("dynamodb", region=REGION).describe_time_to_live(TableName=name)
    assert found["TimeToLiveDescription"] == {"AttributeName": "expires_at", "TimeToLiveStatus": "ENABLED"}


def test_a_deleted_table_is_not_found_by_its_tags(bare_cloud: LocalCloud) -> None:
    tag = {"Key": "purpose", "Value": "passing"}
    create(bare_cloud, "passing", {"Table": resource("DynamoDB::Table", TABLE | {"Tags": [tag]})})
    tagging = bare_cloud.client("resourcegroupstaggingapi", region=REGION)
    wanted = {"TagFilters": [{"Key": "purpose", "Values": ["passing"]}]}
    assert len(tagging.get_resources(**wanted)["ResourceTagMappingList"]) == 1
    delete(bare_cloud, "passing")
    assert tagging.get_resources(**wanted)["ResourceTagMappingList"] == []


def test_a_repeated_transaction_is_compared_as_it_was_sent(bare_cloud: LocalCloud) -> None:
    name = create(bare_cloud, "repeating", {"Table": resource("DynamoDB::Table", TABLE)})["Table"]
    dynamodb = bare_cloud.client("dynamodb", region=REGION)

    def put(number: str) -> int:
        item = {"pk": {"S": "row"}, "value": {"N": number}, "values": {"NS": [number]}}
        dynamodb.transact_write_items(
            TransactItems=[{"Put": {"TableName": name, "Item": item}}], ClientRequestToken="same"
        )
        return 200

    assert (put("1.120"), put("1.120")) == (200, 200)
    with pytest.raises(ClientError, match="IdempotentParameterMismatch"):
        put("1.130")


def test_a_policy_may_allow_the_items_of_some_keys_only(bare_cloud: LocalCloud) -> None:
    name = create(bare_cloud, "keyed", {"Table": resource("DynamoDB::Table", TABLE)})["Table"]
    condition = {"ForAllValues:StringLike": {"dynamodb:LeadingKeys": ["machine#*"]}}
    reader = bare_cloud.create_user("reader", [statement("dynamodb:*Item", Condition=condition)])
    dynamodb = bare_cloud.client("dynamodb", region=REGION, credentials=reader)
    dynamodb.put_item(TableName=name, Item={"pk": {"S": "machine#0"}})
    assert dynamodb.get_item(TableName=name, Key={"pk": {"S": "machine#0"}})["Item"]
    with pytest.raises(ClientError, match="AccessDenied"):
        dynamodb.get_item(TableName=name, Key={"pk": {"S": "job"}})
    with pytest.raises(ClientError, match="AccessDenied"):
        dynamodb.put_item(TableName=name, Item={"pk": {"S": "job"}})
