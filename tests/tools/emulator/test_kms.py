"""What a key of the customer encrypts can be used only by those who may use the key."""

import json
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest
from botocore.exceptions import ClientError

from local_cloud.cloud import Credentials, LocalCloud
from support.stacks.small_stacks import (
    REGION,
    StackFailedError,
    arn,
    arn_of,
    create,
    function,
    resource,
    role,
    statement,
    update,
)

ROOT = {"AWS": {"Fn::Sub": "arn:aws:iam::${AWS::AccountId}:root"}}
VARIABLES = {"StringLike": {"kms:EncryptionContext:aws:lambda:FunctionArn": "arn:aws:lambda:*:function:*"}}
WRITE_ROWS = [
    f"kms:{action}"
    for action in (
        "Decrypt",
        "DescribeKey",
        "Encrypt",
        "GenerateDataKey",
        "GenerateDataKeyWithoutPlaintext",
        "ReEncryptFrom",
        "ReEncryptTo",
    )
]


def key(*more: dict[str, Any], **properties: Any) -> dict[str, Any]:
    """Return a key whose policy leaves roles and users to IAM, and holds these statements."""
    document = {"Version": "2012-10-17", "Statement": [statement("kms:*", Principal=ROOT), *more]}
    return resource("KMS::Key", {"KeyPolicy": document} | properties)


@pytest.fixture(scope="module")
def ids(bare_cloud: LocalCloud) -> dict[str, str]:
    table = {
        "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
        "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
        "BillingMode": "PAY_PER_REQUEST",
        "SSESpecification": {"SSEEnabled": True, "SSEType": "KMS", "KMSMasterKeyId": arn_of("Key")},
    }
    default = {"SSEAlgorithm": "aws:kms", "KMSMasterKeyID": arn_of("Key")}
    encryption = {"ServerSideEncryptionConfiguration": [{"ServerSideEncryptionByDefault": default}]}
    encrypted = {"KmsMasterKeyId": arn_of("Key")}
    return create(
        bare_cloud,
        "keys-of-services",
        {
            "Key": key(),
            "Table": resource("DynamoDB::Table", table),
            "Bucket": resource("S3::Bucket", {"BucketEncryption": encryption}),
            "Queue": resource("SQS::Queue", encrypted),
            "Topic": resource("SNS::Topic", encrypted),
        },
    )


Call = Callable[[Any, dict[str, str]], Any]


def _upload_in_parts(s3: Any, ids: dict[str, str]) -> None:
    where = {"Bucket": ids["Bucket"], "Key": "parts"}
    upload = s3.create_multipart_upload(**where, ChecksumAlgorithm="CRC32")["UploadId"]
    part = s3.upload_part(**where, UploadId=upload, PartNumber=1, Body=b"x", ChecksumAlgorithm="CRC32")
    parts = {"Parts": [{"PartNumber": 1, "ETag": part["ETag"], "ChecksumCRC32": part["ChecksumCRC32"]}]}
    s3.complete_multipart_upload(**where, UploadId=upload, MultipartUpload=parts)


ITEM = {"pk": {"S": "1"}}
CALLS: dict[str, tuple[str, list[str], Call]] = {
    "read a row": (
        "dynamodb",
        ["kms:Decrypt", "kms:DescribeKey"],
        lambda client, ids: client.get_item(TableName=ids["Table"], Key=ITEM),
    ),
    "write a row": ("dynamodb", WRITE_ROWS, lambda client, ids: client.put_item(TableName=ids["Table"], Item=ITEM)),
    "a transaction": (
        "dynamodb",
        WRITE_ROWS,
        lambda client, ids: client.transact_write_items(
            TransactItems=[{"Put": {"TableName": ids["Table"], "Item": ITEM}}]
        ),
    ),
    "a batch of reads": (
        "dynamodb",
        ["kms:Decrypt", "kms:DescribeKey"],
        lambda client, ids: client.batch_get_item(RequestItems={ids["Table"]: {"Keys": [ITEM]}}),
    ),
    "write an object": (
        "s3",
        ["kms:GenerateDataKey"],
        lambda client, ids: client.put_object(Bucket=ids["Bucket"], Key="other", Body=b"x"),
    ),
    "read an object": ("s3", ["kms:Decrypt"], lambda client, ids: client.get_object(Bucket=ids["Bucket"], Key="one")),
    "look at an object": (
        "s3",
        ["kms:Decrypt"],
        lambda client, ids: client.head_object(Bucket=ids["Bucket"], Key="one"),
    ),
    "upload in parts": ("s3", ["kms:Decrypt", "kms:GenerateDataKey"], _upload_in_parts),
    "send a message": (
        "sqs",
        ["kms:Decrypt", "kms:GenerateDataKey"],
        lambda client, ids: client.send_message(QueueUrl=ids["Queue"], MessageBody="x"),
    ),
    "receive messages": ("sqs", ["kms:Decrypt"], lambda client, ids: client.receive_message(QueueUrl=ids["Queue"])),
    "publish": (
        "sns",
        ["kms:Decrypt", "kms:GenerateDataKey"],
        lambda client, ids: client.publish(TopicArn=ids["Topic"], Message="x"),
    ),
}


def client_with(
    cloud: LocalCloud, service: str, ids: dict[str, str], actions: list[str], through: str | None = None
) -> Any:
    """Return a client of a user who may do everything with the service, and these actions with the key."""
    condition = {"StringLike": {"kms:ViaService": f"{through or service}.{REGION}.*"}}
    allowed = [statement(actions, arn("kms", f"key/{ids['Key']}"), Condition=condition)] if actions else []
    user: Credentials = cloud.create_user("reader", [statement(f"{service}:*"), *allowed])
    return cloud.client(service, region=REGION, credentials=user)


@pytest.mark.parametrize("call", CALLS)
def test_a_call_needs_each_action_on_the_key(bare_cloud: LocalCloud, ids: dict[str, str], call: str) -> None:
    service, actions, make = CALLS[call]
    bare_cloud.client("s3", region=REGION).put_object(Bucket=ids["Bucket"], Key="one", Body=b"x")
    make(client_with(bare_cloud, service, ids, actions), ids)
    for missing in actions:
        kept = [action for action in actions if action != missing]
        with pytest.raises(ClientError, match=r"AccessDenied|403"):
            make(client_with(bare_cloud, service, ids, kept), ids)
    with pytest.raises(ClientError, match=r"AccessDenied|403"):
        make(client_with(bare_cloud, service, ids, actions, through="ec2"), ids)


@pytest.fixture
def disabled(bare_cloud: LocalCloud, ids: dict[str, str]) -> Iterator[None]:
    kms = bare_cloud.client("kms", region=REGION)
    kms.disable_key(KeyId=ids["Key"])
    yield
    kms.enable_key(KeyId=ids["Key"])


@pytest.mark.usefixtures("disabled")
def test_nobody_reads_by_a_disabled_key(bare_cloud: LocalCloud, ids: dict[str, str]) -> None:
    with pytest.raises(ClientError, match="AccessDenied"):
        bare_cloud.client("dynamodb", region=REGION).get_item(TableName=ids["Table"], Key=ITEM)


def test_a_function_needs_the_key_of_its_variables(bare_cloud: LocalCloud) -> None:
    source = "def handler(event, context):\n    return 1\n"
    may = role([statement("kms:Decrypt", arn_of("Key"), Condition=VARIABLES)])
    may_for_others = role(
        [statement("kms:Decrypt", arn_of("Key"), Condition={"StringLike": {"kms:ViaService": "s3*"}})]
    )
    made = create(
        bare_cloud,
        "variables",
        {
            "Key": key(),
            "May": may,
            "MayNot": may_for_others,
            "Works": function(source, "May", KmsKeyArn=arn_of("Key")),
            "Fails": function(source, "MayNot", KmsKeyArn=arn_of("Key")),
        },
    )
    lambda_ = bare_cloud.client("lambda", region=REGION)
    assert lambda_.invoke(FunctionName=made["Works"])["Payload"].read() == b"1"
    failed = lambda_.invoke(FunctionName=made["Fails"])
    assert failed["FunctionError"]
    assert b"unable to decrypt the environment variables" in failed["Payload"].read()


def test_a_log_group_needs_a_key_that_cloudwatch_logs_may_use(bare_cloud: LocalCloud) -> None:
    group = partial(resource, "Logs::LogGroup", {"KmsKeyId": arn_of("Key")})
    logs = {"Service": f"logs.{REGION}.amazonaws.com"}
    names = {"ArnLike": {"kms:EncryptionContext:aws:logs:arn": {"Fn::Sub": "arn:aws:logs:*:${AWS::AccountId}:*"}}}
    create(
        bare_cloud, "logs-may", {"Key": key(statement(WRITE_ROWS, Principal=logs, Condition=names)), "Group": group()}
    )
    with pytest.raises(StackFailedError, match="does not exist or is not allowed to be used"):
        create(bare_cloud, "logs-may-not", {"Key": key(), "Group": group()})


def test_a_topic_needs_the_key_of_the_queue_behind_it(bare_cloud: LocalCloud) -> None:
    to_queue = {"Protocol": "sqs", "TopicArn": {"Ref": "Topic"}, "Endpoint": arn_of("Queue")}
    let_in = {"Statement": [statement("sqs:SendMessage", Principal={"Service": "sns.amazonaws.com"})]}
    resources = {
        "Topic": resource("SNS::Topic"),
        "Queue": resource("SQS::Queue", {"KmsMasterKeyId": arn_of("Key")}),
        "Policy": resource("SQS::QueuePolicy", {"Queues": [{"Ref": "Queue"}], "PolicyDocument": let_in}),
        "Subscription": resource("SNS::Subscription", to_queue),
    }
    sns, sqs = bare_cloud.client("sns", region=REGION), bare_cloud.client("sqs", region=REGION)
    made = create(bare_cloud, "delivered", resources | {"Key": key()})

    def delivered() -> list[Any]:
        sns.publish(TopicArn=made["Topic"], Message="x")
        found: list[Any] = sqs.receive_message(QueueUrl=made["Queue"], WaitTimeSeconds=0).get("Messages", [])
        return found

    assert not delivered()
    of_topic = {"ArnLike": {"aws:SourceArn": made["Topic"]}}
    services = statement(["kms:Decrypt", "kms:GenerateDataKey"], Principal={"Service": "sns.amazonaws.com"})
    update(bare_cloud, "delivered", resources | {"Key": key(services | {"Condition": of_topic})})
    assert delivered()


def test_a_function_gets_no_messages_without_the_key_of_its_queue(bare_cloud: LocalCloud) -> None:
    source = "def handler(event, context):\n    return {}\n"
    messages = ["sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes"]
    resources = {
        "Key": key(),
        "Queue": resource("SQS::Queue", {"KmsMasterKeyId": arn_of("Key")}),
        "Function": function(source),
        "Source": resource(
            "Lambda::EventSourceMapping", {"EventSourceArn": arn_of("Queue"), "FunctionName": {"Ref": "Function"}}
        ),
    }
    made = create(bare_cloud, "sources", resources | {"Role": role([statement(messages)])})
    sqs = bare_cloud.client("sqs", region=REGION)
    sqs.send_message(QueueUrl=made["Queue"], MessageBody="x")
    bare_cloud.advance(60)
    counts = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
    found = sqs.get_queue_attributes(QueueUrl=made["Queue"], AttributeNames=counts)["Attributes"]
    assert [found[name] for name in counts] == ["1", "0"]


def test_the_policy_of_a_key_that_names_no_account_closes_it_for_its_users(bare_cloud: LocalCloud) -> None:
    other = {"AWS": "arn:aws:iam::999999999999:root"}
    document = {"Version": "2012-10-17", "Statement": [statement("kms:*", Principal=other)]}
    made = create(
        bare_cloud,
        "closed",
        {
            "Key": resource("KMS::Key", {"KeyPolicy": json.dumps(document)}),
            "Queue": resource("SQS::Queue", {"KmsMasterKeyId": arn_of("Key")}),
        },
    )
    with pytest.raises(ClientError, match="KmsAccessDenied"):
        client_with(bare_cloud, "sqs", made, ["kms:Decrypt", "kms:GenerateDataKey"]).send_message(
            QueueUrl=made["Queue"], MessageBody="x"
        )
