"""Calls the function behind a route: its permission, its time limit, and malformed results."""

import asyncio
import functools
import json
import time
from collections.abc import Awaitable, Callable
from typing import Any

from local_cloud.emulator.apigateway.errors import gateway_error
from local_cloud.emulator.apigateway.response_stream import MalformedAnswerError, Stream
from local_cloud.emulator.apigateway.rest_call import RestCall, current_call
from local_cloud.emulator.core import ministack
from local_cloud.emulator.lambda_.functions import function_allows
from local_cloud.emulator.lambda_.streaming import URI_SUFFIX

_gateway = ministack.internals(
    "ministack.services.apigateway_v1",
    "_build_lambda_event_v1",
    "_extract_lambda_ref_from_integration_uri",
    "_invoke_lambda_proxy_v1",
    "_lambda_proxy_response",
)

_MAX_EVENT_BYTES = 6 * 1024 * 1024 + 100  # the wording of Lambda's Invoke
_MAX_ANSWER_BYTES = 6 * 1024 * 1024
_ANSWER_KEYS = {"statusCode", "headers", "multiValueHeaders", "body", "isBase64Encoded"}
_INTERNAL_ERROR = "Internal server error"
_MALFORMED = "Malformed Lambda proxy response"


async def _invoke(original: Any, integration: dict[str, Any], *args: Any, **named: Any) -> Any:
    call = current_call()
    assert call
    function = str(_gateway._extract_lambda_ref_from_integration_uri(integration.get("uri", "")))
    call.transfer_mode = "STREAMED" if integration.get("responseTransferMode") == "STREAM" else "BUFFERED"
    route = f"{call.api_id}/{call.stage_name}/{call.method}/{call.path.strip('/')}"  # of the resource; without slashes
    source = f"arn:aws:execute-api:{call.region}:{call.account}:{route}"
    if not function_allows("apigateway.amazonaws.com", function, source):
        call.function_failure = "Invalid permissions on Lambda function"
        return gateway_error("API_CONFIGURATION_ERROR", _INTERNAL_ERROR)
    if _is_too_large(call, *args, **named):
        return gateway_error("REQUEST_TOO_LARGE", "Request Too Long")
    limit_in_seconds = (integration.get("timeoutInMillis") or 29000) / 1000
    invoke = functools.partial(original, integration, *args, **named)
    started = time.monotonic()
    try:
        answer = await _ANSWERS[call.transfer_mode](call, limit_in_seconds, invoke)
    except TimeoutError:
        call.function_failure = "Execution failed due to a timeout error"
        return gateway_error("INTEGRATION_TIMEOUT", "Endpoint request timed out")
    finally:
        call.integration_milliseconds = int((time.monotonic() - started) * 1000)
    if call.function_failure:
        # AWS answers 500 for a throttled function and 502 for one that failed; both use the DEFAULT_5XX response.
        status = 500 if call.function_failure == "Rate Exceeded" else 502
        return gateway_error("DEFAULT_5XX", _INTERNAL_ERROR, status=status)
    return answer


def _is_too_large(
    call: RestCall, *args: Any, owner_account_id: str | None = None, owner_region: str | None = None, **of_event: Any
) -> bool:
    """Whether the event exceeds Lambda's limit: it holds a binary body as base64 and text with JSON escapes."""
    if call.body_size < 1_000_000:
        return False  # an escape has at most six characters, so small bodies need no exact count
    event = _gateway._build_lambda_event_v1(*args, **of_event)
    return len(json.dumps(event, ensure_ascii=False).encode()) > _MAX_EVENT_BYTES


async def _whole_answer(_: RestCall, seconds: float, invoke: Callable[[], Awaitable[Any]]) -> Any:
    task = asyncio.ensure_future(invoke())
    done, _pending = await asyncio.wait({task}, timeout=seconds)
    if not done:
        raise TimeoutError  # the function runs on
    return task.result()


async def _begun_answer(call: RestCall, seconds: float, invoke: Callable[[], Awaitable[Any]]) -> Any:
    """The status and the headers of a stream; the body follows."""
    stream = Stream(call, seconds, invoke)
    try:
        if begun := await stream.begin():
            call.stream = stream
            return *begun, b""
    except MalformedAnswerError:
        call.function_failure = _MALFORMED
        return None
    answer = await stream.invocation
    if not isinstance(answer, tuple):
        return answer  # an error of the gateway: the function does not exist
    # A buffered answer instead of a stream is malformed, too.
    call.function_failure = call.function_failure or _MALFORMED
    return None


_ANSWERS = {"BUFFERED": _whole_answer, "STREAMED": _begun_answer}


def _interpret(original: Any, result: dict[str, Any]) -> Any:
    call = current_call()
    assert call
    call.function_failure = _failure_of(result)
    return (None, call.function_failure) if call.function_failure else original(result)


def _failure_of(result: dict[str, Any]) -> str:
    """Why the gateway cannot use a function's result, "" if it can."""
    if result.get("throttle"):
        return "Rate Exceeded"
    answer = result.get("body")
    if result.get("error"):
        return "Lambda execution failed with an error"
    if not isinstance(answer, dict) or not set(answer) <= _ANSWER_KEYS:
        return _MALFORMED
    status = str(answer.get("statusCode", 200))
    if not isinstance(answer.get("body") or "", str) or not (status.isdigit() and 100 <= int(status) <= 599):
        return _MALFORMED
    if len(json.dumps(answer)) > _MAX_ANSWER_BYTES:
        return "Lambda execution failed: the answer is larger than 6 MB"
    return ""


def install() -> None:
    function_of = _gateway._extract_lambda_ref_from_integration_uri
    _gateway._extract_lambda_ref_from_integration_uri = lambda uri: function_of(uri).removesuffix(URI_SUFFIX)
    _gateway._invoke_lambda_proxy_v1 = functools.partial(_invoke, _gateway._invoke_lambda_proxy_v1)
    _gateway._lambda_proxy_response = functools.partial(_interpret, _gateway._lambda_proxy_response)
