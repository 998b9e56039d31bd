"""Service Quotas for SageMaker's instances, EC2's vCPUs, VPCs and API Gateway's timeout; every increase is granted."""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from local_cloud.emulator.core import ministack
from local_cloud.emulator.core.routing import register_service

_CONTENT_TYPE = "application/x-amz-json-1.1"
_PAGE = 100
_USAGES = ("endpoint", "training job", "transform job", "notebook instance")

_TIMEOUT = "Maximum integration timeout in milliseconds"
_VCPUS = "Running On-Demand Standard (A, C, D, H, I, M, R, T, Z) instances"
_VPCS = "VPCs per Region"
_CODES = {_TIMEOUT: "L-E5AE38E3", _VCPUS: "L-1216C47A", _VPCS: "L-F678F1CE"}

# Changed quotas of each account and region, by quota name.
applied: Any = ministack.scoped_store()


class _RefusedError(Exception):
    """A refusal with a code of Service Quotas and a message of ours."""

    def __init__(self, code: str, message: str) -> None:
        self.code = code
        super().__init__(message)


def _defaults(service: str) -> dict[str, int]:
    """The default quotas. SageMaker's are made up, roughly those of a new account: AWS does not publish them."""
    if service == "apigateway":
        return {_TIMEOUT: 29_000}
    if service == "ec2":
        return {_VCPUS: 5}
    if service == "vpc":
        return {_VPCS: 5}
    if service != "sagemaker":
        message = "The local cloud knows the quotas of sagemaker, ec2, vpc and apigateway only."
        raise _RefusedError("NoSuchResourceException", message)
    rows = json.loads(Path(__file__).with_name("endpoint_quotas.json").read_text())["instances"]
    return {f"{name} for {usage} usage": count for name, count in rows.items() for usage in _USAGES}


def _list_defaults(request: dict[str, Any]) -> dict[str, Any]:
    return _page(request, _defaults(request["ServiceCode"]))


def _list_applied(request: dict[str, Any]) -> dict[str, Any]:
    return _page(request, _applied(request["ServiceCode"]))


def _get_default(request: dict[str, Any]) -> dict[str, Any]:
    return _one(request, _defaults(request["ServiceCode"]))


def _get_applied(request: dict[str, Any]) -> dict[str, Any]:
    return _one(request, _applied(request["ServiceCode"]))


def _applied(service: str) -> dict[str, int]:
    """The changed quotas: like AWS, this leaves out quotas without an account-specific value."""
    return {name: value for name, value in applied.items() if name in _defaults(service)}


def _request_increase(request: dict[str, Any]) -> dict[str, Any]:
    quota = _get_default(request)["Quota"]
    applied[quota["QuotaName"]] = int(request["DesiredValue"])
    return {"RequestedQuota": _get_applied(request)["Quota"] | {"Status": "APPROVED"}}


def _page(request: dict[str, Any], values: dict[str, int]) -> dict[str, Any]:
    service = request["ServiceCode"]
    names, start = sorted(values), int(request.get("NextToken") or 0)
    end = start + int(request.get("MaxResults") or _PAGE)
    more = {"NextToken": str(end)} if end < len(names) else {}
    return {"Quotas": [_quota(service, name, values[name]) for name in names[start:end]], **more}


def _one(request: dict[str, Any], values: dict[str, int]) -> dict[str, Any]:
    for name, value in values.items():
        if _code(name) == request["QuotaCode"]:
            return {"Quota": _quota(request["ServiceCode"], name, value)}
    raise _RefusedError("NoSuchResourceException", "The request failed because the specified quota does not exist.")


def _quota(service: str, name: str, value: int) -> dict[str, Any]:
    return {"ServiceCode": service, "QuotaCode": _code(name), "QuotaName": name, "Value": value, "Adjustable": True}


def _code(name: str) -> str:
    return _CODES.get(name) or f"L-{hashlib.sha256(name.encode()).hexdigest()[:8].upper()}"


_OPERATIONS: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "GetAWSDefaultServiceQuota": _get_default,
    "GetServiceQuota": _get_applied,
    "ListServiceQuotas": _list_applied,
    "ListAWSDefaultServiceQuotas": _list_defaults,
    "RequestServiceQuotaIncrease": _request_increase,
}


async def _handle(
    method: str, path: str, headers: dict[str, str], body: bytes, query: dict[str, Any]
) -> ministack.Answer:
    name = _operation(headers)
    if name not in _OPERATIONS:
        return _error("UnknownOperationException", f"The local cloud has no operation {name}.")
    try:
        content = _OPERATIONS[name](json.loads(body or b"{}"))
    except _RefusedError as error:
        return _error(error.code, str(error))
    return 200, {"Content-Type": _CONTENT_TYPE}, json.dumps(content).encode()


def _error(code: str, message: str) -> ministack.Answer:
    headers = {"Content-Type": _CONTENT_TYPE, "x-amzn-errortype": code}
    return 400, headers, json.dumps({"__type": code, "message": message}).encode()


def _operation(headers: dict[str, str]) -> str:
    return headers.get("x-amz-target", "").rpartition(".")[2]


def _authorize(headers: dict[str, str], path: str, body: bytes) -> tuple[str, str]:
    return f"servicequotas:{_operation(headers)}", "*"


def install() -> None:
    register_service("servicequotas", _handle, authorize=_authorize, target_prefix="ServiceQuotasV20190624.")
