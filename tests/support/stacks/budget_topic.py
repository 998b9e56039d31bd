"""The topic of the alarms of tests/deployments, which lets AWS Budgets publish."""

import json

from local_cloud.cloud import ACCOUNT, LocalCloud
from support.stacks.small_stacks import REGION

NAME = "on-call"


def make_topic(cloud: LocalCloud) -> str:
    """Make the topic, and return its ARN."""
    sns = cloud.client("sns", region=REGION)
    arn = str(sns.create_topic(Name=NAME)["TopicArn"])
    statement = {
        "Effect": "Allow",
        "Principal": {"Service": "budgets.amazonaws.com"},
        "Action": "sns:Publish",
        "Resource": arn,
        "Condition": {"StringEquals": {"aws:SourceAccount": ACCOUNT}},
    }
    policy = {"Version": "2012-10-17", "Statement": [statement]}
    sns.set_topic_attributes(TopicArn=arn, AttributeName="Policy", AttributeValue=json.dumps(policy))
    return arn
