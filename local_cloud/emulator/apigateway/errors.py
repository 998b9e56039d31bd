"""The errors of API Gateway itself, in the form of the stage's gateway responses."""

from typing import Any

from local_cloud.emulator.apigateway.rest_call import RestCall, current_call, variables_of
from local_cloud.emulator.core import ministack

_gateway = ministack.internals(
    "ministack.services.apigateway_v1",
    "_GatewayError",
    "_deployed_gateway_responses",
    "_gateway_error_response",
    "_gateway_request_value",
    "_gateway_response_family",
    "_gateway_response_for_type",
)


def gateway_error(response_type: str, message: str, *, error_type: str | None = None, status: int | None = None) -> Any:
    """An error of the gateway itself; `status` applies unless the template gives the response type a status."""
    error = _gateway._GatewayError(response_type, message, error_type)
    error.status = status
    return error


def refuse(call: RestCall, error: Any) -> ministack.Answer:
    """Convert an error into an answer by the stage's gateway responses."""
    request = {
        "api_id": call.api_id,
        "stage_name": call.stage_name,
        "stage": call.stage,
        "headers": call.headers,
        "query_params": call.query,
        "path_params": {},
        "resource_path": call.resource_path,
        "request_id": call.request_id,
    }
    with ministack.scope(call.account, call.region):
        answer: ministack.Answer = _gateway._gateway_error_response(error, request)
    return answer


def _apply_default_status_codes() -> None:
    # A status on DEFAULT_4XX or DEFAULT_5XX applies to each type of its family without a response of its own.
    original = _gateway._gateway_response_for_type

    def response_for_type(customized: dict[str, Any], response_type: str) -> dict[str, Any]:
        response: dict[str, Any] = original(customized, response_type)
        default = customized.get(_gateway._gateway_response_family(response_type)) or {}
        if response_type not in customized and default.get("statusCode"):
            return response | {"statusCode": default["statusCode"]}
        return response

    _gateway._gateway_response_for_type = response_for_type


def _apply_statuses_and_headers() -> None:
    render = _gateway._gateway_error_response

    def render_with_status(error: Any, request: dict[str, Any]) -> ministack.Answer:
        status, headers, body = render(error, request)
        # A mapped header replaces the gateway's own; names are compared without case.
        headers = {
            name: value for name, value in headers.items() if name == name.lower() or name.lower() not in headers
        }
        deployments = _gateway._deployed_gateway_responses.get(request["api_id"], {})
        customized = deployments.get(request["stage"].get("deploymentId")) or {}
        own_status = getattr(error, "status", None)
        if own_status and not customized.get(error.response_type, {}).get("statusCode"):
            status = own_status
        if call := current_call():
            call.error = error
        return status, headers, body

    _gateway._gateway_error_response = render_with_status


def _fill_in_variables() -> None:
    value_of = _gateway._gateway_request_value

    def gateway_request_value(source: str, request: dict[str, Any]) -> Any:
        call = current_call()
        return variables_of(call).get(source) if call and source.startswith("context.") else value_of(source, request)

    _gateway._gateway_request_value = gateway_request_value


def install() -> None:
    _fill_in_variables()
    _apply_default_status_codes()
    _apply_statuses_and_headers()
