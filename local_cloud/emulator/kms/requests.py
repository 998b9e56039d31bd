"""Requests to S3, DynamoDB, SQS and SNS for what a key encrypts: refused unless the caller may use the key."""

import json
import re
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import parse_qs, unquote

from local_cloud.emulator.core import ministack
from local_cloud.emulator.kms.permission import KEY_ACTIONS, READ, READ_AND_WRITE, WRITE, caller_may, through

_app = ministack.internals("ministack.app", "SERVICE_HANDLERS")
_dynamodb = ministack.internals("ministack.services.dynamodb", "_tables")
_iam_actions = ministack.internals("ministack.core.iam_actions", "access_denied_response")
_router = ministack.internals("ministack.core.router", "extract_access_key_id")
_s3 = ministack.internals("ministack.services.s3", "_bucket_default_sse_headers")
_sns = ministack.internals("ministack.services.sns", "_topics")
_sqs = ministack.internals("ministack.services.sqs", "_queues")

_OBJECT_KEY = "x-amz-server-side-encryption-aws-kms-key-id"
# What the path of an object is followed by when a request concerns its content.
_CONTENT = frozenset(("versionId", "uploads", "uploadId", "partNumber"))
_ROWS_ARE_READ = frozenset(("GetItem", "BatchGetItem", "Query", "Scan", "TransactGetItems"))
_ROWS_ARE_WRITTEN = frozenset(("PutItem", "UpdateItem", "DeleteItem", "BatchWriteItem", "TransactWriteItems"))
# DynamoDB Developer Guide, "Encryption at rest usage notes". A write asks for all KEY_ACTIONS.
_READ_ROWS = ("kms:Decrypt", "kms:DescribeKey")
_MESSAGES = {"SendMessage": READ_AND_WRITE, "SendMessageBatch": READ_AND_WRITE, "ReceiveMessage": READ}
_PUBLICATIONS = frozenset(("Publish", "PublishBatch"))

Uses = Iterator[tuple[str, tuple[str, ...]]]  # of a key, and the actions on it
_Request = tuple[str, str, dict[str, str], bytes, dict[str, Any]]  # method, path, headers, body, query


def _of_rows(request: _Request) -> Uses:
    _, _, headers, body, _ = request
    operation = _operation(headers)
    actions = KEY_ACTIONS if operation in _ROWS_ARE_WRITTEN else _READ_ROWS if operation in _ROWS_ARE_READ else None
    if actions is None:
        return
    asked = json.loads(body)
    parts = (part for each in asked.get("TransactItems", []) for part in each.values())
    for table in {asked.get("TableName"), *asked.get("RequestItems", {}), *(part["TableName"] for part in parts)}:
        if encryption := (_dynamodb._tables.get(table or "") or {}).get("SSEDescription"):
            yield encryption["KMSMasterKeyArn"], actions


def _of_objects(request: _Request) -> Uses:
    """The keys of uploads. What key a read needs is known from its answer."""
    method, path, headers, _, query = request
    match = re.match(r"/([^/]+)/.", path)
    if method not in ("PUT", "POST") or not match or not _CONTENT.issuperset(query):
        return
    key = headers.get(_OBJECT_KEY) or _s3._bucket_default_sse_headers(unquote(match[1])).get(_OBJECT_KEY)
    if key:
        yield key, READ_AND_WRITE if "uploadId" in query else WRITE


def _of_messages(request: _Request) -> Uses:
    _, _, headers, body, query = request
    asked = _parameters(headers, body, query)
    actions = _MESSAGES.get(_operation(headers) or asked.get("Action", ""))
    queue = _sqs._queues.get(asked.get("QueueUrl", "")) if actions else None
    if actions and queue and (key := queue["attributes"].get("KmsMasterKeyId")):
        yield key, actions


def _of_publications(request: _Request) -> Uses:
    _, _, headers, body, query = request
    asked = _parameters(headers, body, query)
    topic = _sns._topics.get(asked.get("TopicArn", "")) if asked.get("Action") in _PUBLICATIONS else None
    if topic and (key := topic["attributes"].get("KmsMasterKeyId")):
        yield key, READ_AND_WRITE


def _operation(headers: dict[str, str]) -> str:
    return headers.get("x-amz-target", "").rpartition(".")[2]


def _parameters(headers: dict[str, str], body: bytes, query: dict[str, Any]) -> dict[str, Any]:
    if "json" in headers.get("content-type", ""):
        found: dict[str, Any] = json.loads(body or b"{}")
        return found
    return {name: values[0] for name, values in {**query, **parse_qs(body.decode(errors="replace"))}.items()}


def _demand_keys(service: str, uses_of: Callable[[_Request], Uses], code: str = "") -> None:
    """Refuse requests of callers who may not use the key. code: the service's own name for that error."""
    original = _app.SERVICE_HANDLERS[service]

    async def handle(*request: Any) -> ministack.Answer:
        _, _, headers, _, query = request
        for key, actions in uses_of(request):
            if not caller_may(_router.extract_access_key_id(headers, query), key, actions, through(service)):
                return _refusal(service, key, actions, headers, code)
        answer: ministack.Answer = await original(*request)
        return answer

    _app.SERVICE_HANDLERS[service] = handle


def _demand_keys_of_reads() -> None:
    """Refuse to read an object whose key the caller may not use. The answer names the key."""
    original = _app.SERVICE_HANDLERS["s3"]

    async def handle(*request: Any) -> ministack.Answer:
        method, _, headers, _, query = request
        answer: ministack.Answer = await original(*request)
        key = {name.lower(): value for name, value in answer[1].items()}.get(_OBJECT_KEY)
        if method not in ("GET", "HEAD") or not key:
            return answer
        if caller_may(_router.extract_access_key_id(headers, query), key, READ, through("s3")):
            return answer
        return _refusal("s3", key, READ, headers)

    _app.SERVICE_HANDLERS["s3"] = handle


def _refusal(
    service: str, key: str, actions: tuple[str, ...], headers: dict[str, str], code: str = ""
) -> ministack.Answer:
    message = f"The caller is not authorized to perform {', '.join(actions)} on the key {key}, or it is not enabled."
    answer: ministack.Answer = _iam_actions.access_denied_response(
        service, actions[0], "", "-", headers=headers, error_code=code, message=message, resource_arn=key
    )
    return answer


def install() -> None:
    _demand_keys("dynamodb", _of_rows)
    _demand_keys("s3", _of_objects)
    _demand_keys("sqs", _of_messages, "KmsAccessDenied")
    _demand_keys("sns", _of_publications, "KMSAccessDenied")
    _demand_keys_of_reads()
