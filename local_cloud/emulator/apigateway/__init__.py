"""API Gateway's REST APIs: repairs where MiniStack differs from AWS."""

import time
from collections.abc import Awaitable, Callable
from typing import Any

from local_cloud.emulator.apigateway import (
    access_log,
    addresses,
    api_keys,
    authorization,
    errors,
    integration,
    mock_integration,
    resource_policy,
    response_stream,
    rest_call,
    web_acl,
)
from local_cloud.emulator.apigateway.rest_call import RestCall
from local_cloud.emulator.cloudformation.resource_types import extend_resource_type
from local_cloud.emulator.core import ministack
from local_cloud.emulator.services import cloudwatch, iam
from local_cloud.emulator.xray.requests import record_request

_gateway = ministack.internals("ministack.services.apigateway_v1", "_account_settings", "_rest_apis", "_stages_v1")

_MAX_BODY_BYTES = 10 * 1024 * 1024
# The actions that the managed policy AmazonAPIGatewayPushToCloudWatchLogs allows.
_LOG_ROLE_ACTIONS = (
    "CreateLogGroup",
    "CreateLogStream",
    "DescribeLogGroups",
    "DescribeLogStreams",
    "FilterLogEvents",
    "GetLogEvents",
    "PutLogEvents",
)


async def _answer(call: RestCall, proceed: Callable[[], Awaitable[ministack.Answer]]) -> ministack.Answer:
    refused = resource_policy.refuse_wrong_door(call) or (web_acl.refusal(call) if call.stage else None)
    error = _error(call) if call.stage and not refused else None
    answer = refused or (errors.refuse(call, error) if error else await proceed())
    answer[1].setdefault("x-amzn-requestid", call.request_id)
    call.status = answer[0]
    if call.stream:
        return answer[0], answer[1], call.stream.body(lambda: _record(call))
    call.response_length = len(answer[2])
    _record(call)
    return answer


def _record(call: RestCall) -> None:
    access_log.write_access_log(call)
    if call.stage:
        _put_metrics(call)
    if call.trace:
        request = {"method": call.method, "url": f"https://{call.headers.get('host', '')}/{call.path}"}
        client = {"client_ip": call.source_ip, "user_agent": call.headers.get("user-agent", "")}
        with ministack.scope(call.account, call.region):
            name = f"{_gateway._rest_apis[call.api_id]['name']}/{call.stage_name}"
            record_request(call.trace, name, call.started, call.status, {"request": request | client})


def _error(call: RestCall) -> Any:
    """The gateway's error if the request reaches no method, otherwise None."""
    if call.body_size > _MAX_BODY_BYTES:
        return errors.gateway_error("REQUEST_TOO_LARGE", "Request Too Long")
    if not call.is_text:
        return errors.gateway_error("BAD_REQUEST_BODY", "Invalid request body")
    # AWS ignores slashes before and after the path; for slashes within it nobody has reported that.
    if "//" in call.path.strip("/"):
        return errors.gateway_error("MISSING_AUTHENTICATION_TOKEN", "Missing Authentication Token")
    return None


def _put_metrics(call: RestCall) -> None:
    with ministack.scope(call.account, call.region):
        dimensions = {"ApiName": _gateway._rest_apis[call.api_id]["name"], "Stage": call.stage_name}
        values = {"Count": True, "4XXError": 400 <= call.status < 500, "5XXError": call.status >= 500}
        counts = {name: (float(value), "Count") for name, value in values.items()}
        latency = {"Latency": ((time.time() - call.started) * 1000, "Milliseconds")}
        cloudwatch.record_metrics("AWS/ApiGateway", dimensions, counts | latency)


def _check_stage(properties: dict[str, Any]) -> None:
    setting = properties.get("AccessLogSetting") or {}
    access_log.refuse_unknown_variables(setting.get("Format", ""))
    role = (_gateway._account_settings.get("settings") or {}).get("cloudwatchRoleArn")
    if setting and not role:
        raise ValueError("CloudWatch Logs role ARN must be set in account settings to enable logging")


def _set_logs_and_traces(stage_name: str, properties: dict[str, Any]) -> None:
    given = properties.get("AccessLogSetting") or {}
    settings = {"destinationArn": given["DestinationArn"], "format": given["Format"]} if given else {}
    stage = _gateway._stages_v1[properties["RestApiId"]][stage_name]
    stage |= {"accessLogSettings": settings, "tracingEnabled": properties.get("TracingEnabled") in (True, "true")}


def _check_api(properties: dict[str, Any]) -> None:
    enhanced = properties.get("SecurityPolicy", "").startswith("SecurityPolicy_")
    if enhanced and not properties.get("EndpointAccessMode"):
        raise ValueError("Endpoint access mode is required for the specified security policy")
    if properties.get("EndpointAccessMode") and not enhanced:
        raise ValueError("Endpoint access mode is only available for security policies that start with SecurityPolicy_")


def _check_account(properties: dict[str, Any]) -> None:
    role = properties.get("CloudWatchRoleArn")
    if role and not (
        iam.role_trusts(role, "apigateway.amazonaws.com")
        and all(iam.role_may(role, f"logs:{action}", "*") for action in _LOG_ROLE_ACTIONS)
    ):
        raise ValueError(
            "The role ARN does not have required permissions configured. "
            "Please grant trust permission for API Gateway and add the required role policy."
        )


def _check_method(properties: dict[str, Any]) -> None:
    response_stream.check_method(properties)
    mock_integration.check_method(properties)


def _complete_api(api_id: str, properties: dict[str, Any]) -> None:
    api_keys.complete_api(api_id, properties)
    resource_policy.complete_api(api_id, properties)


def install() -> None:
    addresses.install()
    rest_call.answer_calls_with(_answer)
    rest_call.keep_escaped_slashes()
    rest_call.share_one_request_id()
    errors.install()
    authorization.install()
    integration.install()
    mock_integration.install()
    api_keys.install()
    resource_policy.install()
    web_acl.install()
    extend_resource_type("AWS::ApiGateway::RestApi", check=_check_api, complete=_complete_api)
    extend_resource_type("AWS::ApiGateway::Stage", check=_check_stage, complete=_set_logs_and_traces)
    extend_resource_type("AWS::ApiGateway::Authorizer", check=api_keys.check_authorizer)
    extend_resource_type("AWS::ApiGateway::Method", check=_check_method, complete=response_stream.complete_method)
    extend_resource_type("AWS::ApiGateway::Account", check=_check_account)
