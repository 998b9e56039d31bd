"""SNS: deliveries to queues by the cloud's clock, and what MiniStack leaves out of topics."""

import json
from typing import Any

from local_cloud.emulator.cloudformation.resource_types import extend_resource_type
from local_cloud.emulator.core import ministack
from local_cloud.emulator.services import sqs

_sns = ministack.internals("ministack.services.sns", "_deliver_to_sqs", "_topics", "time")

_KEY = "KmsMasterKeyId"


def _complete(topic_arn: str, properties: dict[str, Any]) -> None:
    """Give a topic its key and AWS's default policy: services may publish, principals need their own permission."""
    attributes = _sns._topics[topic_arn]["attributes"]
    attributes[_KEY] = properties.get(_KEY) or ""
    document = json.loads(attributes.get("Policy") or "{}")
    if document.get("Id") == "__default_policy_ID":
        document["Statement"][0]["Condition"] = {"StringEquals": {"AWS:SourceOwner": ministack.account_id()}}
        attributes["Policy"] = json.dumps(document)


def install() -> None:
    ministack.follow_clock(_sns)
    _sns._deliver_to_sqs = sqs.one_at_a_time(_sns._deliver_to_sqs)
    extend_resource_type("AWS::SNS::Topic", complete=_complete)
