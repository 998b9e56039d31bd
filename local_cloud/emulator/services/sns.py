"""SNS: deliveries to queues by the cloud's clock, and permissions of publishers."""

import json
from typing import Any
from urllib.parse import parse_qs

from local_cloud.emulator.cloudformation.resource_types import extend_resource_type
from local_cloud.emulator.core import ministack
from local_cloud.emulator.services import sqs

_app = ministack.internals("ministack.app", "SERVICE_HANDLERS")
_iam_evaluator = ministack.internals("ministack.core.iam_evaluator", "enforce")
_kms = ministack.internals("ministack.services.kms", "_resolve_key")
_router = ministack.internals("ministack.core.router", "extract_access_key_id")
_sns = ministack.internals("ministack.services.sns", "_deliver_to_sqs", "_error", "_topics", "time")

_KEY = "KmsMasterKeyId"
# The actions a publisher to an encrypted topic needs (SNS Developer Guide, "Managing encryption keys and costs").
_PUBLISHERS_KEY_ACTIONS = ("kms:GenerateDataKey", "kms:Decrypt")


def _complete(topic_arn: str, properties: dict[str, Any]) -> None:
    """Give a topic its key and AWS's default policy: services may publish, principals need their own permission."""
    attributes = _sns._topics[topic_arn]["attributes"]
    attributes[_KEY] = properties.get(_KEY) or ""
    document = json.loads(attributes.get("Policy") or "{}")
    if document.get("Id") == "__default_policy_ID":
        document["Statement"][0]["Condition"] = {"StringEquals": {"AWS:SourceOwner": ministack.account_id()}}
        attributes["Policy"] = json.dumps(document)


def _demand_keys() -> None:
    """Refuse messages to a topic with a key from callers who may not use the key."""
    original = _app.SERVICE_HANDLERS["sns"]

    async def handle(
        method: str, path: str, headers: dict[str, str], body: bytes, query: dict[str, Any]
    ) -> ministack.Answer:
        request = {**query, **parse_qs(body.decode(errors="replace"))}
        if request.get("Action", [""])[0] in ("Publish", "PublishBatch"):
            topic = _sns._topics.get(request.get("TopicArn", [""])[0]) or {"attributes": {}}
            key_id = topic["attributes"].get(_KEY)
            if key_id and not _may_use(_router.extract_access_key_id(headers, query), key_id):
                refusal: ministack.Answer = _sns._error(
                    "KMSAccessDenied", f"The caller may not use the key {key_id}.", 400
                )
                return refusal
        answer: ministack.Answer = await original(method, path, headers, body, query)
        return answer

    _app.SERVICE_HANDLERS["sns"] = handle


def _may_use(access_key: str, key_id: str) -> bool:
    """Whether the caller may use the key. No one may use alias/aws/sns: AWS does not document if SageMaker may."""
    key = _kms._resolve_key(key_id)
    if key is None:
        return False
    decisions = (
        _iam_evaluator.enforce(access_key, action, "kms", ministack.region(), resource_arn=key["Arn"])
        for action in _PUBLISHERS_KEY_ACTIONS
    )
    return all(denied is None for denied in decisions)


def install() -> None:
    ministack.follow_clock(_sns)
    _sns._deliver_to_sqs = sqs.one_at_a_time(_sns._deliver_to_sqs)
    _demand_keys()
    extend_resource_type("AWS::SNS::Topic", complete=_complete)
