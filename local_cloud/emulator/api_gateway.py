"""API Gateway's REST APIs as AWS runs them: refusals, limits, permissions, one request id and access logs."""

import asyncio
import hashlib
import json
import time
from collections.abc import Awaitable, Callable
from typing import Any

from local_cloud.emulator import gateway_hooks, hooks, logs_hooks, role_hooks
from local_cloud.emulator.access_log import access_log_line, refuse_unknown_variables
from local_cloud.emulator.cloudformation_hooks import extend_resource_type
from local_cloud.emulator.gateway_error_hooks import gateway_error, refuse
from local_cloud.emulator.gateway_hooks import RestCall
from local_cloud.emulator.lambda_hooks import function_allows

MAX_BODY_BYTES = 10 * 1024 * 1024
MAX_FUNCTION_ANSWER_BYTES = 6 * 1024 * 1024
PROXY_ANSWER_KEYS = {"statusCode", "headers", "multiValueHeaders", "body", "isBase64Encoded"}
# What the managed policy AmazonAPIGatewayPushToCloudWatchLogs allows.
LOG_ROLE_ACTIONS = (
    "CreateLogGroup",
    "CreateLogStream",
    "DescribeLogGroups",
    "DescribeLogStreams",
    "FilterLogEvents",
    "GetLogEvents",
    "PutLogEvents",
)
INTERNAL_ERROR = "Internal server error"


async def _answer(call: RestCall, proceed: Callable[[], Awaitable[hooks.Answer]]) -> hooks.Answer:
    started = time.time()
    if call.body_size > MAX_BODY_BYTES and gateway_hooks.stage_of(call):
        answer = refuse(call, gateway_error("REQUEST_TOO_LARGE", "Request Too Long"))
    else:
        answer = await proceed()
    answer[1].setdefault("x-amzn-requestid", call.request_id)
    _write_access_log(call, answer, started)
    return answer


def _authorize(call: RestCall, authorization: str, decide: gateway_hooks.Decide) -> hooks.Answer | None:
    if authorization != "AWS_IAM":
        return None  # an unknown route is refused when it is executed, whoever signed the request
    signed_for = gateway_hooks.signature_scope(call)
    if signed_for and signed_for != (call.region, "execute-api"):
        region, service = signed_for
        message = (
            f"Credential should be scoped to a valid region, not '{region}'. "
            if region != call.region
            else f"Credential should be scoped to correct service: 'execute-api', not '{service}'. "
        )
        error = gateway_error("INVALID_SIGNATURE", message, error_type="InvalidSignatureException")
        return refuse(call, error)
    refusal = decide()
    if call.error is not None:
        return refusal
    call.identity = gateway_hooks.caller_identity(call) if signed_for else {}
    if call.identity.get("userArn", "").endswith(":root"):
        # The emulator takes any secret for its root keys; no caller of an API may rely on that.
        message = "The security token included in the request is invalid."
        return refuse(call, gateway_error("DEFAULT_4XX", message, error_type="UnrecognizedClientException"))
    if refusal is not None:
        return refuse(call, gateway_error("ACCESS_DENIED", _denial(call, refusal)))
    return None


def _denial(call: RestCall, refusal: hooks.Answer) -> str:
    """The emulator's reason with the resource in it, its account masked, as AWS words it."""
    account = f"********{call.account[-4:]}"
    resource = f"arn:aws:execute-api:{call.region}:{account}:{_invoked(call)}"
    who, _, why = str(json.loads(refusal[2])["message"]).partition("execute-api:Invoke ")
    return f"{who}execute-api:Invoke on resource: {resource} {why}"


def _invoked(call: RestCall) -> str:
    return f"{call.api_id}/{call.stage_name}/{call.method}{call.path}"


async def _invoke(call: RestCall, integration: dict[str, Any], proceed: Callable[[], Awaitable[Any]]) -> Any:
    source = f"arn:aws:execute-api:{call.region}:{call.account}:{_invoked(call)}"
    if not function_allows("apigateway.amazonaws.com", gateway_hooks.function_behind(integration), source):
        call.function_failure = "Invalid permissions on Lambda function"
        return gateway_error("API_CONFIGURATION_ERROR", INTERNAL_ERROR)
    started = time.monotonic()
    limit_in_seconds = (integration.get("timeoutInMillis") or 29000) / 1000
    task = asyncio.ensure_future(proceed())
    done, _ = await asyncio.wait({task}, timeout=limit_in_seconds)
    call.integration_milliseconds = int((time.monotonic() - started) * 1000)
    if not done:
        call.function_failure = "Execution failed due to a timeout error"
        return gateway_error("INTEGRATION_TIMEOUT", "Endpoint request timed out")
    if call.function_failure:
        # AWS answers 500 for a throttled function and 502 for one that failed; both are of the DEFAULT_5XX type.
        status = 500 if call.function_failure == "Rate Exceeded" else 502
        return gateway_error("DEFAULT_5XX", INTERNAL_ERROR, status=status)
    return task.result()


def _failure_of(result: dict[str, Any]) -> str:
    if result.get("throttle"):
        return "Rate Exceeded"
    answer = result.get("body")
    if result.get("error"):
        return "Lambda execution failed with an error"
    if not isinstance(answer, dict) or not set(answer) <= PROXY_ANSWER_KEYS:
        return "Malformed Lambda proxy response"
    status = str(answer.get("statusCode", 200))
    if not isinstance(answer.get("body") or "", str) or not (status.isdigit() and 100 <= int(status) <= 599):
        return "Malformed Lambda proxy response"
    if len(json.dumps(answer)) > MAX_FUNCTION_ANSWER_BYTES:
        return "Lambda execution failed: the answer is larger than 6 MB"
    return ""


def _write_access_log(call: RestCall, answer: hooks.Answer, started: float) -> None:
    settings = gateway_hooks.stage_of(call).get("accessLogSettings") or {}
    if not settings:
        return
    group = settings["destinationArn"].split(":log-group:")[-1].removesuffix(":*")
    stream = hashlib.md5(f"{call.api_id}/{call.stage_name}".encode(), usedforsecurity=False).hexdigest()
    with hooks.scope(call.account, call.region):
        line = access_log_line(settings["format"], call, answer, started)
        logs_hooks.write_log(group, stream, line, int(started * 1000))


def _check_logging(properties: dict[str, Any]) -> None:
    refuse_unknown_variables((properties.get("AccessLogSetting") or {}).get("Format", ""))
    logging = [
        setting for setting in properties.get("MethodSettings") or [] if setting.get("LoggingLevel", "OFF") != "OFF"
    ]
    if (properties.get("AccessLogSetting") or logging) and not gateway_hooks.gateway_log_role():
        raise ValueError("CloudWatch Logs role ARN must be set in account settings to enable logging")


def _set_access_log(stage_name: str, properties: dict[str, Any]) -> None:
    given = properties.get("AccessLogSetting") or {}
    settings = {"destinationArn": given["DestinationArn"], "format": given["Format"]} if given else {}
    gateway_hooks.set_access_log(properties["RestApiId"], stage_name, settings)


def _require_usable_log_role(properties: dict[str, Any]) -> None:
    role = properties.get("CloudWatchRoleArn")
    if role and not (
        role_hooks.role_trusts(role, "apigateway.amazonaws.com")
        and all(role_hooks.role_may(role, f"logs:{action}", "*") for action in LOG_ROLE_ACTIONS)
    ):
        raise ValueError(
            "The role ARN does not have required permissions configured. "
            "Please grant trust permission for API Gateway and add the required role policy."
        )


def install() -> None:
    gateway_hooks.answer_rest_calls_with(_answer)
    gateway_hooks.authorize_rest_calls_with(_authorize)
    gateway_hooks.invoke_functions_with(_invoke, _failure_of)
    extend_resource_type("AWS::ApiGateway::Stage", check=_check_logging, complete=_set_access_log)
    extend_resource_type("AWS::ApiGateway::Account", check=_require_usable_log_role)
