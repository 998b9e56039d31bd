"""The access log of a REST API's stage: its format filled in for one call."""

import json
import re
import time
from typing import Any

from local_cloud.emulator import hooks
from local_cloud.emulator.gateway_hooks import RestCall

VARIABLE = re.compile(r"\$context\.([A-Za-z]+(?:\.[A-Za-z]+)*)")


def access_log_line(line_format: str, call: RestCall, answer: hooks.Answer, started: float) -> str:
    """The format with every $context variable replaced; one without a value is written as "-"."""
    values = _context(call, answer, started)
    return VARIABLE.sub(lambda match: _written(values.get(match[1])), line_format)


def _written(value: Any) -> str:
    return "-" if value is None or value == "" else str(value)


def _context(call: RestCall, answer: hooks.Answer, started: float) -> dict[str, Any]:
    message = call.error.message if call.error else None
    identity = {f"identity.{name}": value for name, value in (call.identity | call.api_key).items()}
    return identity | {
        "accountId": call.account,
        "apiId": call.api_id,
        "domainName": call.headers.get("host"),
        "error.message": message,
        "error.messageString": json.dumps(message) if message else None,
        "error.responseType": call.error.response_type if call.error else None,
        "extendedRequestId": call.request_id,
        "httpMethod": call.method,
        "identity.sourceIp": "127.0.0.1",
        "identity.userAgent": call.headers.get("user-agent"),
        "integration.error": call.function_failure,
        "integration.integrationStatus": call.function_status,
        "integration.latency": call.integration_milliseconds,
        "integration.status": 200 if call.function_status else None,
        "integrationErrorMessage": call.function_failure,
        "integrationLatency": call.integration_milliseconds,
        "integrationStatus": call.function_status,
        "path": f"/{call.stage_name}{call.path}",
        "protocol": "HTTP/1.1",
        "requestId": call.request_id,
        "requestTime": time.strftime("%d/%b/%Y:%H:%M:%S +0000", time.gmtime(started)),
        "requestTimeEpoch": int(started * 1000),
        "resourcePath": call.resource_path,
        "responseLatency": int((time.time() - started) * 1000),
        "responseLength": len(answer[2]),
        "stage": call.stage_name,
        "status": answer[0],
    }
