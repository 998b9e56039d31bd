"""The access log of a REST API's stage: writes one line in the stage's format for each call."""

import hashlib
import re
import time
from collections.abc import Callable
from typing import Any

from local_cloud.emulator.apigateway.rest_call import RestCall
from local_cloud.emulator.core import ministack
from local_cloud.emulator.services import logs

_VARIABLE = re.compile(r"\$context\.([A-Za-z]+(?:\.[A-Za-z]+)*)")

# The variables of $context that a format may use here.
_VALUES: dict[str, Callable[[RestCall], Any]] = {
    "authorizer.key": lambda call: call.authorizer_context.get("key"),
    "authorizer.principalId": lambda call: call.authorizer_context.get("principalId"),
    "error.responseType": lambda call: call.error and call.error.response_type,
    "httpMethod": lambda call: call.method,
    "identity.apiKeyId": lambda call: call.api_key.get("apiKeyId"),
    "identity.caller": lambda call: call.identity.get("caller"),
    "identity.sourceIp": lambda call: call.source_ip,
    "integration.responseTransferMode": lambda call: call.transfer_mode,
    "integration.timeToAllHeaders": lambda call: call.milliseconds_to_headers,
    "integration.timeToFirstContent": lambda call: call.milliseconds_to_content,
    "integrationErrorMessage": lambda call: call.function_failure,
    "integrationLatency": lambda call: call.integration_milliseconds,
    "requestId": lambda call: call.request_id,
    "requestTimeEpoch": lambda call: int(call.started * 1000),
    "resourcePath": lambda call: call.resource_path,
    "responseLatency": lambda call: int((time.time() - call.started) * 1000),
    "responseLength": lambda call: call.response_length,
    "status": lambda call: call.status,
    "xrayTraceId": lambda call: call.trace and call.trace.root,
}


def refuse_unknown_variables(line_format: str) -> None:
    """Raise ValueError when the format asks for a variable that the local cloud does not know."""
    unknown = sorted(set(_VARIABLE.findall(line_format)) - _VALUES.keys())
    if unknown:
        raise ValueError(
            f"AccessLogSetting.Format: the local cloud does not know $context.{', $context.'.join(unknown)}; "
            f"leave them out, or add them to {__name__}."
        )


def write_access_log(call: RestCall) -> None:
    settings = call.stage.get("accessLogSettings") or {}
    if not settings:
        return
    group = settings["destinationArn"].split(":log-group:")[-1].removesuffix(":*")
    stream = hashlib.md5(f"{call.api_id}/{call.stage_name}".encode(), usedforsecurity=False).hexdigest()
    line = _VARIABLE.sub(lambda match: _written(_VALUES[match[1]](call)), settings["format"])
    with ministack.scope(call.account, call.region):
        logs.write_log(group, stream, line, int(call.started * 1000))


def _written(value: Any) -> str:
    return "-" if value is None or value == "" else str(value)
