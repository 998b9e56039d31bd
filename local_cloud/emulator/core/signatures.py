"""Signature Version 4: refuses signatures that AWS refuses and MiniStack accepts."""

import re
from collections.abc import Callable, Mapping
from typing import Any

from local_cloud.emulator.core import ministack

_sigv4 = ministack.internals("ministack.core.sigv4", "parse_header_signature", "parse_query_signature")
_s3 = ministack.internals("ministack.services.s3", "_error", "_qp", "_verify_presigned_sigv4")

_WEEK_IN_SECONDS = 604_800
_NOT_SIGNED = ("AccessDenied", "There were headers present in the request which were not signed")  # S3's wording

Parsed = Any  # a HeaderSignature, or a refusal's code and message


def _with_host(parse: Callable[[Mapping[str, Any]], Parsed]) -> Callable[[Mapping[str, Any]], Parsed]:
    """Demand that the host is signed: otherwise the signature would be valid for any host."""

    def parse_with_host(given: Mapping[str, Any]) -> Parsed:
        found = parse(given)
        if isinstance(found, tuple) or "host" in found.signed_headers.lower().split(";"):
            return found
        if found.service == "s3":
            return _NOT_SIGNED
        return (
            "InvalidSignatureException",
            "'Host' or ':authority' must be a 'SignedHeader' in the AWS Authorization.",
        )

    return parse_with_host


def _with_possible_expiry(parse: Callable[[Mapping[str, Any]], Parsed]) -> Callable[[Mapping[str, Any]], Parsed]:
    """Apply S3's limit for X-Amz-Expires to every service."""

    def parse_with_possible_expiry(query: Mapping[str, Any]) -> Parsed:
        expires = _s3._qp(query, "X-Amz-Expires", "")
        if not expires or (re.fullmatch("[0-9]+", expires) and int(expires) <= _WEEK_IN_SECONDS):
            return parse(query)
        return (
            "AuthorizationQueryParametersError",
            f"X-Amz-Expires must be a number of seconds from 0 to {_WEEK_IN_SECONDS}, not {expires}",
        )

    return parse_with_possible_expiry


def _verify_presigned_with_host() -> None:
    """Demand a signed host in presigned S3 URLs, too, which S3 verifies itself."""
    verify = _s3._verify_presigned_sigv4

    def verify_presigned(method: str, path: str, headers: Any, query: Any) -> Any:
        signed = _s3._qp(query, "X-Amz-SignedHeaders", "")
        if signed and "host" not in signed.lower().split(";"):
            return _s3._error(*_NOT_SIGNED, 403, path)
        return verify(method, path, headers, query)

    _s3._verify_presigned_sigv4 = verify_presigned


def install() -> None:
    _sigv4.parse_header_signature = _with_host(_sigv4.parse_header_signature)
    _sigv4.parse_query_signature = _with_possible_expiry(_with_host(_sigv4.parse_query_signature))
    _verify_presigned_with_host()
