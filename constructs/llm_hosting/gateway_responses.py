"""What API Gateway itself answers when a request never reaches a function: our JSON shape, status and advice."""

import json
from dataclasses import dataclass


@dataclass(frozen=True)
class GatewayAnswer:
    """One of API Gateway's kinds of response, with our status, code and message; `retry_after` is in seconds."""

    kind: str
    status: int | None
    code: str
    message: str
    retry_after: int | None = None

    @property
    def template(self) -> str:
        """The body."""
        return json.dumps({"error": {"code": self.code, "message": self.message}})

    @property
    def headers(self) -> dict[str, str]:
        """Response headers in API Gateway's mapping language: fixed values stand in single quotes."""
        headers = {"x-request-id": "context.requestId", "content-type": "'application/json'"}
        return headers if self.retry_after is None else {**headers, "Retry-After": f"'{self.retry_after}'"}


GATEWAY_ANSWERS = (
    GatewayAnswer(
        "MISSING_AUTHENTICATION_TOKEN",
        403,
        "no_such_route_or_not_signed",
        "No such route, or the request is not signed: use POST /generate or GET /endpoint, "
        "signed with AWS Signature Version 4 for the service execute-api.",
    ),
    GatewayAnswer(
        "INVALID_SIGNATURE",
        403,
        "invalid_signature",
        "The signature does not match: check secret key, region, service (execute-api), body and clock.",
    ),
    GatewayAnswer("EXPIRED_TOKEN", 403, "expired_token", "The temporary credentials have expired: get new ones."),
    GatewayAnswer(
        "ACCESS_DENIED",
        403,
        "access_denied",
        "The caller may not use this route: it needs execute-api:Invoke on it.",
    ),
    GatewayAnswer("INVALID_API_KEY", 403, "invalid_api_key", "Send a valid key of this API in the header x-api-key."),
    GatewayAnswer("THROTTLED", 429, "throttled", "Too many requests at once: wait, then send the request again.", 1),
    GatewayAnswer(
        "QUOTA_EXCEEDED",
        429,
        "quota_exceeded",
        "The quota of this API key is used up: wait for the next period or ask for a larger quota.",
        3600,
    ),
    GatewayAnswer("REQUEST_TOO_LARGE", 413, "body_too_large", "The body is over 10 MB: send a shorter prompt."),
    GatewayAnswer(
        "INTEGRATION_TIMEOUT",
        504,
        "gateway_timeout",
        "No answer within 29 seconds: ask for fewer tokens.",
    ),
    GatewayAnswer(
        "DEFAULT_4XX",
        None,  # each kind keeps its own
        "request_refused",
        "The request can't be accepted: check path, headers, body and, where requests are signed, the credentials.",
    ),
    GatewayAnswer(
        "DEFAULT_5XX",
        503,
        "service_unavailable",
        "The service can't take the request at the moment: wait, then send it again.",
        5,
    ),
)
