"""Service Quotas of SageMaker's instances: defaults of a table, and increases that are granted at once."""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from local_cloud.emulator import ministack
from local_cloud.emulator.routing import register_service

_CONTENT_TYPE = "application/x-amz-json-1.1"
_PAGE = 100
_USAGES = ("endpoint", "training job", "transform job", "notebook instance")

# Changed quotas of each account and region, by name.
applied: Any = ministack.scoped_store()


class _RefusedError(Exception):
    """A refusal; the message is its own, the code one of Service Quotas'."""

    def __init__(self, code: str, message: str) -> None:
        self.code = code
        super().__init__(message)


def _defaults() -> dict[str, int]:
    """Made up, roughly those of a new account: nobody publishes them."""
    rows = json.loads(Path(__file__).with_name("endpoint_quotas.json").read_text())["instances"]
    return {f"{name} for {usage} usage": count for name, count in rows.items() for usage in _USAGES}


def _list_defaults(request: dict[str, Any]) -> dict[str, Any]:
    return _page(request, _defaults())


def _list_applied(request: dict[str, Any]) -> dict[str, Any]:
    """Changed quotas only: AWS, too, leaves out those without a value of the account's own."""
    return _page(request, dict(applied.items()))


def _request_increase(request: dict[str, Any]) -> dict[str, Any]:
    _demand_sagemaker(request)
    names = {_code(name): name for name in _defaults()}
    if request["QuotaCode"] not in names:
        raise _RefusedError("NoSuchResourceException", "The request failed because the specified quota does not exist.")
    name = names[request["QuotaCode"]]
    applied[name] = int(request["DesiredValue"])
    return {"RequestedQuota": _quota(name, applied[name]) | {"Status": "APPROVED"}}


def _page(request: dict[str, Any], values: dict[str, int]) -> dict[str, Any]:
    _demand_sagemaker(request)
    names, start = sorted(values), int(request.get("NextToken") or 0)
    end = start + int(request.get("MaxResults") or _PAGE)
    more = {"NextToken": str(end)} if end < len(names) else {}
    return {"Quotas": [_quota(name, values[name]) for name in names[start:end]], **more}


def _quota(name: str, value: int) -> dict[str, Any]:
    return {"ServiceCode": "sagemaker", "QuotaCode": _code(name), "QuotaName": name, "Value": value, "Adjustable": True}


def _code(name: str) -> str:
    return f"L-{hashlib.sha256(name.encode()).hexdigest()[:8].upper()}"


def _demand_sagemaker(request: dict[str, Any]) -> None:
    if request.get("ServiceCode") != "sagemaker":
        raise _RefusedError("NoSuchResourceException", "The local cloud knows the quotas of sagemaker only.")


_OPERATIONS: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
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
