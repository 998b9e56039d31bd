"""SageMaker's runtime API: sends invocations to an instance or a queue, and shapes the answers."""

import functools
import json
import re
import time
from typing import Any
from urllib.parse import unquote

from local_cloud.emulator.core import ministack
from local_cloud.emulator.core.relay import Relay
from local_cloud.emulator.core.routing import register_service
from local_cloud.emulator.sagemaker import component_calls, response_stream
from local_cloud.emulator.sagemaker.components.endpoint import ComponentEndpoint
from local_cloud.emulator.sagemaker.containers.call import (
    ContainerAnswer,
    ContainerAwayError,
    OpenAnswer,
    call_container,
    open_answer,
)
from local_cloud.emulator.sagemaker.containers.instance import EndpointInstance
from local_cloud.emulator.sagemaker.containers.instance_group import InstanceGroup
from local_cloud.emulator.sagemaker.containers.metrics import count_invocation
from local_cloud.emulator.sagemaker.data_capture import capture
from local_cloud.emulator.sagemaker.endpoint import Endpoint
from local_cloud.emulator.sagemaker.requests.async_invocation import accept_invocation
from local_cloud.emulator.sagemaker.requests.validation import InvalidRequestError
from local_cloud.emulator.sagemaker.store import arn_of, endpoint_configs, endpoints
from local_cloud.emulator.services import iam

_PATH = r"/endpoints/([^/]+)/(invocations|async-invocations|invocations-response-stream)$"
_ACTIONS = {
    "invocations": "InvokeEndpoint",
    "async-invocations": "InvokeEndpointAsync",
    "invocations-response-stream": "InvokeEndpointWithResponseStream",
}
_MAX_PAYLOAD_BYTES = 6_291_456
_TIME_LIMIT_IN_SECONDS = 60
_ANSWERING_STATUSES = ("InService", "Updating", "RollingBack")


def _invoke(name: str, headers: dict[str, str], body: bytes) -> ministack.Answer:
    group, instance = _instance_for(name, headers, body)
    if group is None or instance is None:
        return _unavailable()
    try:
        return _forward(group, instance, headers, body)
    except ContainerAwayError:
        return _unavailable()
    finally:
        group.give_back(instance)


def _invoke_with_stream(relay: Relay, name: str, headers: dict[str, str], body: bytes) -> ministack.Answer:
    group, instance = _instance_for(name, headers, body)
    if group is None or instance is None:
        return _unavailable()
    started, fault = time.monotonic(), headers.get(response_stream.FAULT_HEADER, "")
    limit = response_stream.TIME_LIMIT_IN_SECONDS
    try:
        opened = open_answer(
            instance,
            headers.get("content-type"),
            headers.get("x-amzn-sagemaker-accept"),
            body,
            is_over=lambda: time.monotonic() - started >= limit,
            **{response_stream.FAULT_HEADER: fault},
            **component_calls.adapter_header(headers),
        )
    except ContainerAwayError:
        group.give_back(instance)
        return _unavailable()
    if isinstance(opened, OpenAnswer) and 200 <= opened.response.status < 300:
        ministack.in_background(response_stream.pump, opened, relay, group, instance, fault, name="response-stream")
        named = {"x-Amzn-SageMaker-Content-Type": opened.content_type}
        named |= {"x-Amzn-Invoked-Production-Variant": group.spec.variant}
        rest: Any = response_stream.body(relay, limit - (time.monotonic() - started))
        return 200, {"Content-Type": "application/vnd.amazon.eventstream"} | named, rest
    answer = opened.whole() if isinstance(opened, OpenAnswer) else opened
    group.give_back(instance)
    count_invocation(group.spec, answer.status, time.monotonic() - started)
    return _model_error(group, answer)


def _instance_for(
    name: str, headers: dict[str, str], body: bytes
) -> tuple[InstanceGroup, EndpointInstance] | tuple[None, None]:
    """An instance for an invocation, with its group; (None, None) if none is healthy. Raises InvalidRequestError."""
    if len(body) > _MAX_PAYLOAD_BYTES:
        raise InvalidRequestError(f"HTTP content length exceeded {_MAX_PAYLOAD_BYTES} bytes.")
    if isinstance(endpoints.get(name), ComponentEndpoint):
        return component_calls.take_copy(name, headers) or (None, None)
    endpoint = _find_endpoint(name, asynchronous=False)
    component_calls.refuse_component(headers)
    # Try twice: an update may end the group between the two steps.
    return endpoint.traffic.take_instance() or endpoint.traffic.take_instance() or (None, None)


def _invoke_async(name: str, headers: dict[str, str], body: bytes) -> ministack.Answer:
    endpoint = _find_endpoint(name, asynchronous=True)
    assert endpoint.queue is not None
    invocation = accept_invocation(name, endpoint.config["AsyncInferenceConfig"], headers, body)
    locations = {"X-Amzn-SageMaker-OutputLocation": invocation.output_location}
    if invocation.failure_location:
        locations["X-Amzn-SageMaker-FailureLocation"] = invocation.failure_location
    endpoint.queue.put(invocation)
    return 202, {"Content-Type": "application/json"} | locations, json.dumps({"InferenceId": invocation.id}).encode()


def _find_endpoint(name: str, *, asynchronous: bool) -> Endpoint:
    endpoint: Endpoint | ComponentEndpoint | None = endpoints.get(name)
    if isinstance(endpoint, ComponentEndpoint):
        raise InvalidRequestError(f"Endpoint {name} does not support this inference type.")
    if endpoint is None or endpoint.group is None or endpoint.status not in _ANSWERING_STATUSES:
        raise InvalidRequestError(f"Endpoint {name} of account {ministack.account_id()} not found.")
    if (endpoint.queue is not None) != asynchronous:
        raise InvalidRequestError(f"Endpoint {name} does not support this inference type.")
    return endpoint


def _forward(
    group: InstanceGroup, instance: EndpointInstance, headers: dict[str, str], body: bytes
) -> ministack.Answer:
    started = time.monotonic()
    answer = call_container(
        instance,
        headers.get("content-type"),
        headers.get("accept"),
        body,
        # In real time, because the model computes at its real speed.
        is_over=lambda: time.monotonic() - started >= _TIME_LIMIT_IN_SECONDS,
        **component_calls.adapter_header(headers),
    )
    count_invocation(group.spec, answer.status, time.monotonic() - started)
    if not answer.is_success:
        return _model_error(group, answer)
    # The configuration of components may be gone; those capture nothing.
    if captured := (endpoint_configs.get(group.spec.config) or {}).get("DataCaptureConfig"):
        given = (headers.get("content-type") or "application/octet-stream", body)
        capture(captured, group.spec, given, (answer.content_type, answer.body))
    return (
        200,
        {"Content-Type": answer.content_type, "x-Amzn-Invoked-Production-Variant": group.spec.variant},
        answer.body,
    )


def _model_error(group: InstanceGroup, answer: ContainerAnswer) -> ministack.Answer:
    region, account, log_group = ministack.region(), ministack.account_id(), group.spec.log_group
    logs = f"https://{region}.console.aws.amazon.com/cloudwatch/home?region={region}#logEventViewer:group={log_group}"
    text = answer.body.decode(errors="replace")
    content = {
        "ErrorCode": "CLIENT_ERROR_FROM_MODEL" if 400 <= answer.status < 500 else "INTERNAL_FAILURE_FROM_MODEL",
        "LogStreamArn": f"arn:aws:logs:{region}:{account}:log-group:{log_group}",
        "Message": f'{answer.error} with message "{text}". See {logs} in account {account} for more information.',
        "OriginalMessage": text,
        "OriginalStatusCode": answer.status,
    }
    return 424, _error_headers("ModelError"), json.dumps(content).encode()


def _unavailable() -> ministack.Answer:
    return _error(503, "ServiceUnavailable", "The service is temporarily unavailable. Please try again.")


def _error(status: int, code: str, message: str) -> ministack.Answer:
    return status, _error_headers(code), json.dumps({"Message": message}).encode()


def _error_headers(code: str) -> dict[str, str]:
    return {"Content-Type": "application/json", "x-amzn-errortype": code}


_OPERATIONS = {"invocations": _invoke, "async-invocations": _invoke_async}


async def _handle(
    method: str, path: str, headers: dict[str, str], body: bytes, query: dict[str, Any]
) -> ministack.Answer:
    name, operation = _parse(path)
    if denial := _denial_for_component(headers, operation):
        return denial
    try:
        invoke = _OPERATIONS.get(operation) or functools.partial(_invoke_with_stream, Relay())
        answer: ministack.Answer = await ministack.off_loop(invoke, name, headers, body)
    except InvalidRequestError as error:
        return _error(400, "ValidationError", str(error))
    return answer


def _denial_for_component(headers: dict[str, str], operation: str) -> ministack.Answer | None:
    """The refusal of a caller without the permission on the component, if the call names one.

    The call needs the permission on the endpoint, too. Whether AWS demands both is not documented.
    """
    component = headers.get(component_calls.COMPONENT_HEADER)
    if not component:
        return None
    return iam.denial(
        headers, "sagemaker", f"sagemaker:{_ACTIONS[operation]}", arn_of("inference-component", component)
    )


def _authorize(headers: dict[str, str], path: str, body: bytes) -> tuple[str, str]:
    name, operation = _parse(path)
    return f"sagemaker:{_ACTIONS[operation]}", arn_of("endpoint", name)


def _parse(path: str) -> tuple[str, str]:
    match = re.match(_PATH, path)
    assert match is not None
    return unquote(match[1]), match[2]


def install() -> None:
    register_service("sagemaker-runtime", _handle, authorize=_authorize, path=_PATH)
