"""SNS: deliveries to queues on the cloud's clock, and topics that take messages only from those who may publish."""

import json
from typing import Any

from local_cloud.emulator import ministack, sqs
from local_cloud.emulator.cloudformation import extend_resource_type

_sns = ministack.internals("ministack.services.sns", "_deliver_to_sqs", "_topics", "time")


def _limit_default_policy(topic_arn: str, _: dict[str, Any]) -> None:
    """Give a topic of a template the default policy of AWS, which is for services: principals need their own right."""
    attributes = _sns._topics[topic_arn]["attributes"]
    document = json.loads(attributes.get("Policy") or "{}")
    if document.get("Id") == "__default_policy_ID":
        document["Statement"][0]["Condition"] = {"StringEquals": {"AWS:SourceOwner": ministack.account_id()}}
        attributes["Policy"] = json.dumps(document)


def install() -> None:
    ministack.follow_clock(_sns)
    _sns._deliver_to_sqs = sqs.one_at_a_time(_sns._deliver_to_sqs)
    extend_resource_type("AWS::SNS::Topic", complete=_limit_default_policy)
