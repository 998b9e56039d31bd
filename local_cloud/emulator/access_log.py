"""The access log of a REST API's stage: its format filled in for one call."""

import re
import time
from collections.abc import Callable
from typing import Any, NamedTuple

from local_cloud.emulator import hooks
from local_cloud.emulator.gateway_hooks import RestCall, without_escapes

_VARIABLE = re.compile(r"\$context\.([A-Za-z]+(?:\.[A-Za-z]+)*)")


class _Entry(NamedTuple):
    call: RestCall
    answer: hooks.Answer
    started: float


# The variables of $context that a format may use here.
_VALUES: dict[str, Callable[[_Entry], Any]] = {
    "error.message": lambda entry: entry.call.error and entry.call.error.message,
    "error.responseType": lambda entry: entry.call.error and entry.call.error.response_type,
    "extendedRequestId": lambda entry: entry.call.request_id,
    "httpMethod": lambda entry: entry.call.method,
    "identity.apiKeyId": lambda entry: entry.call.api_key.get("apiKeyId"),
    "identity.caller": lambda entry: entry.call.identity.get("caller"),
    "identity.sourceIp": lambda _: "127.0.0.1",
    "identity.user": lambda entry: entry.call.identity.get("user"),
    "identity.userAgent": lambda entry: entry.call.headers.get("user-agent"),
    "identity.userArn": lambda entry: entry.call.identity.get("userArn"),
    "integrationErrorMessage": lambda entry: entry.call.function_failure,
    "integrationLatency": lambda entry: entry.call.integration_milliseconds,
    "path": lambda entry: f"/{entry.call.stage_name}{without_escapes(entry.call.path)}",
    "protocol": lambda _: "HTTP/1.1",
    "requestId": lambda entry: entry.call.request_id,
    "requestTime": lambda entry: time.strftime("%d/%b/%Y:%H:%M:%S +0000", time.gmtime(entry.started)),
    "requestTimeEpoch": lambda entry: int(entry.started * 1000),
    "resourcePath": lambda entry: entry.call.resource_path,
    "responseLatency": lambda entry: int((time.time() - entry.started) * 1000),
    "responseLength": lambda entry: len(entry.answer[2]),
    "stage": lambda entry: entry.call.stage_name,
    "status": lambda entry: entry.answer[0],
}


def refuse_unknown_variables(line_format: str) -> None:
    """Raise ValueError when the format asks for what the local cloud does not know."""
    unknown = sorted(set(_VARIABLE.findall(line_format)) - _VALUES.keys())
    if unknown:
        raise ValueError(
            f"AccessLogSetting.Format: the local cloud does not know $context.{', $context.'.join(unknown)}; "
            f"leave them out, or add them to {__name__}."
        )


def access_log_line(line_format: str, call: RestCall, answer: hooks.Answer, started: float) -> str:
    """The format with every $context variable replaced; one without a value is written as "-"."""
    entry = _Entry(call, answer, started)
    return _VARIABLE.sub(lambda match: _written(_VALUES[match[1]](entry)), line_format)


def _written(value: Any) -> str:
    return "-" if value is None or value == "" else str(value)
