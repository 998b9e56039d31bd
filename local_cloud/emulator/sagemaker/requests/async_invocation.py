"""Checks a request for an asynchronous invocation, and adds its locations and deadlines."""

import time
import uuid
from dataclasses import dataclass
from typing import Any

from local_cloud.emulator.core import clock
from local_cloud.emulator.sagemaker.requests.async_location import output_location
from local_cloud.emulator.sagemaker.requests.validation import (
    InvalidRequestError,
    broken_rule,
    check_pattern,
    check_range,
)

_HEADER = "x-amzn-sagemaker-"
_MAX_INLINE_BYTES = 128_000
_TTL_RANGE_IN_SECONDS, _DEFAULT_TTL_IN_SECONDS = (60, 21_600), 21_600
_TIMEOUT_RANGE_IN_SECONDS, _DEFAULT_TIMEOUT_IN_SECONDS = (1, 3600), 900
# From botocore's service model.
_PATTERNS = {
    "InferenceId": r"(?s)\S[ -~]{0,63}",
    "InputLocation": r"(https|s3)://([^/]+)/?(.{1,1000})",
    "S3OutputPathExtension": r"(?!s3:|https:)[a-zA-Z0-9!_.*'()/-]{1,512}",
    "Filename": r"(?!.*\..*\.)[a-zA-Z0-9][a-zA-Z0-9\-_.]{0,31}",
}
_HEADERS = {"InferenceId": "inference-id"}


@dataclass(frozen=True, eq=False)
class AsyncInvocation:
    """An accepted asynchronous invocation. Times and the timeout are in seconds of time.time()."""

    id: str
    endpoint: str
    content_type: str | None
    accept: str | None
    input_location: str | None
    inline_body: bytes
    output_location: str
    key: str | None
    failure_location: str | None
    notifications: dict[str, Any]
    received_at: float
    expires_at: float
    timeout: float


def accept_invocation(endpoint: str, config: dict[str, Any], headers: dict[str, str], body: bytes) -> AsyncInvocation:
    """Read a request to an endpoint with this AsyncInferenceConfig. Raises InvalidRequestError."""
    output, now = config["OutputConfig"], time.time()
    extension, filename = _matched(headers, "S3OutputPathExtension"), _matched(headers, "Filename")
    ttl = _number(headers, "RequestTTLSeconds", _TTL_RANGE_IN_SECONDS, _DEFAULT_TTL_IN_SECONDS)
    input_location = _input_location(headers, body)
    # Independent of the inference id, so that nobody can guess an output's name from it.
    unique = str(uuid.uuid4())
    return AsyncInvocation(
        id=_matched(headers, "InferenceId") or str(uuid.uuid4()),
        endpoint=endpoint,
        content_type=headers.get(f"{_HEADER}content-type"),
        accept=headers.get(f"{_HEADER}accept"),
        input_location=input_location,
        inline_body=body,
        output_location=output_location(output["S3OutputPath"], extension or "", filename or f"{unique}.out"),
        key=output.get("KmsKeyId"),
        failure_location=(
            f"{output['S3FailurePath'].rstrip('/')}/{unique}-error.out" if output.get("S3FailurePath") else None
        ),
        notifications=output.get("NotificationConfig") or {},
        received_at=now,
        expires_at=now + clock.shortened(ttl),
        timeout=clock.shortened(
            _number(headers, "InvocationTimeoutSeconds", _TIMEOUT_RANGE_IN_SECONDS, _DEFAULT_TIMEOUT_IN_SECONDS)
        ),
    )


def _input_location(headers: dict[str, str], body: bytes) -> str | None:
    location = _matched(headers, "InputLocation")
    if location and body:
        raise InvalidRequestError("Provide exactly one of Body and InputLocation, not both.")
    if not location and not body:
        raise broken_rule("null", "InputLocation", "Member must not be null")
    if len(body) > _MAX_INLINE_BYTES:
        raise InvalidRequestError(f"Body of {len(body)} bytes is larger than {_MAX_INLINE_BYTES} bytes.")
    if location and not location.startswith("s3://"):
        raise InvalidRequestError(f"The local cloud reads inputs from s3:// only, not from {location}.")
    return location


def _matched(headers: dict[str, str], member: str) -> str | None:
    value = headers.get(_HEADER + _HEADERS.get(member, member.lower()))
    check_pattern(value, member, _PATTERNS[member])
    return value


def _number(headers: dict[str, str], member: str, allowed: tuple[int, int], default: int) -> int:
    value = int(headers.get(_HEADER + member.lower(), default))
    check_range(value, member, *allowed)
    return value
