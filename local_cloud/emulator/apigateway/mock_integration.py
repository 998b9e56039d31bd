"""MOCK integrations: checks the mappings of their responses as AWS does, and fills them in."""

import functools
import re
from typing import Any

from local_cloud.emulator.apigateway.rest_call import current_call, variables_of
from local_cloud.emulator.core import ministack

_gateway = ministack.internals("ministack.services.apigateway_v1", "_invoke_mock_v1")

# The only template with code: the CDK's for preflights, which overrides a header for any of several origins.
_OF_PREFLIGHT = re.compile(
    r'#set\(\$origin = \$input\.params\(\)\.header\.get\("Origin"\)\)\n'
    r'#if\(\$origin == ""\)\n'
    r'  #set\(\$origin = \$input\.params\(\)\.header\.get\("origin"\)\)\n'
    r"#end\n"
    r'#if\((?P<condition>\$origin == "[^"$#]+"(?: \|\| \$origin == "[^"$#]+")*)\)\n'
    r"  #set\(\$context\.responseOverride\.header\.(?P<header>[A-Za-z-]+) = \$origin\)\n"
    r"#end"
)


def check_method(properties: dict[str, Any]) -> None:
    """Refuse an integration response whose status the method does not declare, and code of any other form."""
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
        for template in (each.get("ResponseTemplates") or {}).values():
            if re.search(r"[#$]", template) and not _OF_PREFLIGHT.fullmatch(template):
                raise ValueError("The local cloud takes only the CDK's code for CORS in a MOCK response's template")


def _answer(original: Any, integration: dict[str, Any]) -> ministack.Answer:
    status, headers, body = original(integration)
    call = current_call()
    variables = variables_of(call) if call else {}
    headers = {name: variables.get(value, value) for name, value in headers.items()}
    if template := _OF_PREFLIGHT.fullmatch(body.decode()):
        origin = call.headers.get("origin", "") if call else ""
        if origin in re.findall('"([^"]+)"', template["condition"]):
            headers[template["header"]] = origin
        body = b""
    if status == 204:
        headers.pop("Content-Type", None)
        body = b""
    return status, headers, body


def install() -> None:
    _gateway._invoke_mock_v1 = functools.partial(_answer, _gateway._invoke_mock_v1)
