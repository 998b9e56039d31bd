"""Policies that demand TLS stand in templates as they are on AWS and let this machine in."""

from local_cloud.cloud import LocalCloud
from support.small_stacks import REGION, create, resource


def test_a_policy_that_demands_tls_lets_this_machine_in(bare_cloud: LocalCloud) -> None:
    deny = {"Effect": "Deny", "Principal": "*", "Action": "sqs:*", "Resource": "*"}
    insecure = {"Bool": {"aws:SecureTransport": "false"}}
    policy = {"Version": "2012-10-17", "Statement": [deny | {"Condition": insecure}]}
    resources = {
        "Queue": resource("SQS::Queue"),
        "Policy": resource("SQS::QueuePolicy", {"Queues": [{"Ref": "Queue"}], "PolicyDocument": policy}),
    }
    ids = create(bare_cloud, "tls-only", resources)
    sqs = bare_cloud.client("sqs", region=REGION)
    assert sqs.send_message(QueueUrl=ids["Queue"], MessageBody="x")["MessageId"]
