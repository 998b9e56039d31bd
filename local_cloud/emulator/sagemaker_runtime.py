"""SageMaker's runtime: an invocation is handed to an instance, and comes back in SageMaker's shapes."""

import http.client
import json
import re
import time
from typing import Any
from urllib.parse import unquote

from local_cloud.emulator import hooks
from local_cloud.emulator.model_containers import Fleet
from local_cloud.emulator.model_instance import Instance
from local_cloud.emulator.sagemaker_endpoint import Endpoint
from local_cloud.emulator.sagemaker_metrics import FleetName, count_invocation
from local_cloud.emulator.sagemaker_store import arn_of, endpoints
from local_cloud.emulator.service_hooks import register_service

_PATH = r"/endpoints/([^/]+)/(invocations|async-invocations|invocations-response-stream)$"
_ACTIONS = {
    "invocations": "InvokeEndpoint",
    "async-invocations": "InvokeEndpointAsync",
    "invocations-response-stream": "InvokeEndpointWithResponseStream",
}
_MAX_PAYLOAD_BYTES = 6_291_456
_TIME_LIMIT_IN_SECONDS = 60
_TIMED_OUT = (
    "Your invocation timed out while waiting for a response from container primary. Review the latency metrics for "
    "each container in Amazon CloudWatch, resolve the issue, and try again."
)
_ANSWERING_STATUSES = ("InService", "Updating", "RollingBack")


def _invoke(name: str, headers: dict[str, str], body: bytes) -> hooks.Answer:
    endpoint = endpoints.get(name)
    if endpoint is None or endpoint.fleet is None or endpoint.status not in _ANSWERING_STATUSES:
        return _error(400, "ValidationError", f"Endpoint {name} of account {hooks.account_id()} not found.")
    if len(body) > _MAX_PAYLOAD_BYTES:
        return _error(400, "ValidationError", f"HTTP content length exceeded {_MAX_PAYLOAD_BYTES} bytes.")
    # A second look: an update may exchange the fleet between the two steps.
    fleet, instance = _take_instance(endpoint) or _take_instance(endpoint) or (None, None)
    if fleet is None or instance is None:
        return _unavailable()
    started = time.monotonic()
    try:
        return _forward(endpoint, instance, headers, body, started)
    except ConnectionRefusedError:
        return _unavailable()
    finally:
        fleet.give_back(instance)


def _take_instance(endpoint: Endpoint) -> tuple[Fleet, Instance] | None:
    fleet = endpoint.fleet
    instance = fleet.take_instance() if fleet else None
    return (fleet, instance) if fleet and instance else None


def _forward(
    endpoint: Endpoint, instance: Instance, headers: dict[str, str], body: bytes, started: float
) -> hooks.Answer:
    variant = endpoint.variant["VariantName"]
    fleet = FleetName(endpoint.name, variant, endpoint.config["EndpointConfigName"])
    connection = http.client.HTTPConnection("127.0.0.1", instance.port, timeout=_TIME_LIMIT_IN_SECONDS)
    try:
        passed = {"Content-Type": headers.get("content-type", "application/octet-stream")}
        connection.request("POST", "/invocations", body, passed | {"Accept": headers.get("accept", "*/*")})
        response = connection.getresponse()
        status, content = response.status, response.read()
        content_type = response.headers.get("Content-Type", "application/octet-stream")
    except ConnectionRefusedError:
        raise
    except TimeoutError:
        count_invocation(fleet, 500, time.monotonic() - started)
        return _model_error(endpoint, 0, _TIMED_OUT)
    except (OSError, http.client.HTTPException):
        count_invocation(fleet, 500, time.monotonic() - started)
        return _model_error(endpoint, 500, "The container closed the connection before it answered.")
    finally:
        connection.close()
    count_invocation(fleet, status, time.monotonic() - started)
    if not 200 <= status < 300:
        return _model_error(endpoint, status, content.decode(errors="replace"))
    return 200, {"Content-Type": content_type, "x-Amzn-Invoked-Production-Variant": variant}, content


def _model_error(endpoint: Endpoint, status: int, text: str) -> hooks.Answer:
    side = "client" if 400 <= status < 500 else "server"
    region, account = hooks.region(), hooks.account_id()
    group = f"/aws/sagemaker/Endpoints/{endpoint.name}"
    logs = f"https://{region}.console.aws.amazon.com/cloudwatch/home?region={region}#logEventViewer:group={group}"
    content = {
        "ErrorCode": "CLIENT_ERROR_FROM_MODEL" if side == "client" else "INTERNAL_FAILURE_FROM_MODEL",
        "LogStreamArn": f"arn:aws:logs:{region}:{account}:log-group:{group}",
        "Message": f'Received {side} error ({status}) from primary with message "{text}". '
        f"See {logs} in account {account} for more information.",
        "OriginalMessage": text,
        "OriginalStatusCode": status,
    }
    return 424, _error_headers("ModelError"), json.dumps(content).encode()


def _unavailable() -> hooks.Answer:
    return _error(503, "ServiceUnavailable", "The service is temporarily unavailable. Please try again.")


def _error(status: int, code: str, message: str) -> hooks.Answer:
    return status, _error_headers(code), json.dumps({"Message": message}).encode()


def _error_headers(code: str) -> dict[str, str]:
    return {"Content-Type": "application/json", "x-amzn-errortype": code}


async def _handle(method: str, path: str, headers: dict[str, str], body: bytes, query: dict[str, Any]) -> hooks.Answer:
    name, operation = _parse(path)
    if method != "POST" or operation != "invocations":
        return _error(400, "UnknownOperationException", f"The local cloud has no {_ACTIONS[operation]}.")
    answer: hooks.Answer = await hooks.off_loop(_invoke, name, headers, body)
    return answer


def _authorize(headers: dict[str, str], path: str, body: bytes) -> tuple[str, str]:
    name, operation = _parse(path)
    return f"sagemaker:{_ACTIONS[operation]}", arn_of("endpoint", name)


def _parse(path: str) -> tuple[str, str]:
    match = re.match(_PATH, path)
    assert match is not None
    return unquote(match[1]), match[2]


def install() -> None:
    register_service("sagemaker-runtime", _handle, authorize=_authorize, path=_PATH)
