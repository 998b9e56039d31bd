"""MOCK integrations: checks the mappings of their responses as AWS does, and fills them in."""

import functools
from typing import Any

from local_cloud.emulator.apigateway.rest_call import current_call
from local_cloud.emulator.core import ministack

_gateway = ministack.internals("ministack.services.apigateway_v1", "_invoke_mock_v1")


def check_method(properties: dict[str, Any]) -> None:
    """Refuse an integration response whose status the method does not declare."""
    integration = properties.get("Integration") or {}
    if integration.get("Type") != "MOCK":
        return
    if not integration.get("RequestTemplates"):
        raise ValueError("The local cloud takes a MOCK integration with a request template only")
    declared = {str(each["StatusCode"]): each for each in properties.get("MethodResponses") or []}
    for each in integration.get("IntegrationResponses") or []:
        if str(each["StatusCode"]) not in declared:
            raise ValueError("Invalid response status code specified")
        known = declared[str(each["StatusCode"])].get("ResponseParameters") or {}
        if unknown := sorted((each.get("ResponseParameters") or {}).keys() - known):
            raise ValueError(f"Invalid mapping expression parameter specified: {unknown[0]}")


def _answer(original: Any, integration: dict[str, Any]) -> ministack.Answer:
    status, headers, body = original(integration)
    call = current_call()
    variables = {"context.requestId": call.request_id} if call else {}
    return status, {name: variables.get(value, value) for name, value in headers.items()}, body


def install() -> None:
    _gateway._invoke_mock_v1 = functools.partial(_answer, _gateway._invoke_mock_v1)
