"""CloudWatch dashboards: an account has one list of them for all regions, and invalid bodies are refused."""

import json
from typing import Any

from local_cloud.dashboard_body import problems
from local_cloud.emulator.cloudformation.resource_types import extend_resource_type
from local_cloud.emulator.core import ministack

_cloudwatch = ministack.internals("ministack.services.cloudwatch", "_dashboards", "_error", "_p", "_put_dashboard")
_responses = ministack.internals("ministack.core.responses", "AccountScopedDict")


def _refusal(body: str) -> str:
    """Return CloudWatch's message; empty = the body is valid."""
    found = [dict(zip(("dataPath", "message"), each.split(": ", 1), strict=True)) for each in problems(body)]
    count = len(found)
    return f"The dashboard body is invalid, there are {count} validation errors: {json.dumps(found)}" if found else ""


def _check(properties: dict[str, Any]) -> None:
    if refusal := _refusal(str(properties.get("DashboardBody", ""))):
        raise ValueError(refusal)


def _check_new(properties: dict[str, Any]) -> None:
    name = properties.get("DashboardName")
    if name in _cloudwatch._dashboards:
        raise ValueError(f"Dashboard {name} already exists")


def _refuse_invalid_bodies() -> None:
    put = _cloudwatch._put_dashboard

    def put_dashboard(params: Any, document: Any, is_cbor: bool, is_json: bool = False) -> Any:
        given = document if is_cbor or is_json else {"DashboardBody": _cloudwatch._p(params, "DashboardBody")}
        if refusal := _refusal(given.get("DashboardBody", "")):
            return _cloudwatch._error("InvalidParameterInput", refusal, 400, use_json=is_json, use_cbor=is_cbor)
        return put(params, document, is_cbor, is_json)

    _cloudwatch._put_dashboard = put_dashboard


def install() -> None:
    """Apply the repairs."""
    _cloudwatch._dashboards = _responses.AccountScopedDict()
    _refuse_invalid_bodies()
    extend_resource_type("AWS::CloudWatch::Dashboard", check=_check, check_new=_check_new)
