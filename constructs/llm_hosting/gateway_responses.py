"""What API Gateway itself answers when a request never reaches a function: our JSON shape, status and advice."""

import json
from dataclasses import dataclass


@dataclass(frozen=True)
class GatewayResponse:
    """One of API Gateway's kinds of response, with our status (None = the kind's own), code and message."""

    kind: str
    status: int | None
    code: str
    message: str
    retry_after_in_seconds: int | None = None

    @property
    def template(self) -> str:
        """The body."""
        return json.dumps({"error": {"code": self.code, "message": self.message}})

    @property
    def headers(self) -> dict[str, str]:
        """Response headers in API Gateway's mapping language: fixed values stand in single quotes."""
        headers = {"x-request-id": "context.requestId"}
        if self.retry_after_in_seconds is not None:
            headers["Retry-After"] = f"'{self.retry_after_in_seconds}'"
        return headers


_NO_SUCH_ROUTE = {
    "iam": "No such route, or the request is not signed: use {routes}, signed with AWS Signature Version 4 for the "
    "service execute-api.",
    "api-key": "No such route: use {routes}, with the header x-api-key.",
    "none": "No such route: use {routes}.",
}
_ROUTES = "POST /generate or GET /endpoint"
_ROUTES_WITH_JOBS = "POST /generate, POST or GET /jobs, GET or DELETE /jobs/{id}, or GET /endpoint"
_UNAVAILABLE = "The service can't take the request at the moment: wait, then send it again."
_RESPONSES = (
    GatewayResponse(
        "INVALID_SIGNATURE",
        403,
        "invalid_signature",
        "The signature does not match: check secret key, region, service (execute-api), body and clock.",
    ),
    GatewayResponse("EXPIRED_TOKEN", 403, "expired_token", "The temporary credentials have expired: get new ones."),
    GatewayResponse(
        "ACCESS_DENIED",
        403,
        "access_denied",
        "The caller may not use this route: it needs execute-api:Invoke on it.",
    ),
    GatewayResponse("INVALID_API_KEY", 403, "invalid_api_key", "Send a valid key of this API in the header x-api-key."),
    GatewayResponse("THROTTLED", 429, "throttled", "Too many requests at once: wait, then send the request again.", 1),
    GatewayResponse(
        "QUOTA_EXCEEDED",
        429,
        "quota_exceeded",
        "The quota of this API key is used up: wait for the next period or ask for a larger quota.",
        3600,
    ),
    GatewayResponse("REQUEST_TOO_LARGE", 413, "body_too_large", "The body is too large: send a shorter prompt."),
    GatewayResponse(
        "DEFAULT_4XX",
        None,  # each kind keeps its own
        "request_refused",
        "The request can't be accepted: check path, headers, body and, where requests are signed, the credentials.",
    ),
    GatewayResponse("DEFAULT_5XX", 503, "service_unavailable", _UNAVAILABLE, 5),
    # Kinds of the 5XX family that have a status of their own: whether the default's covers it was not seen on AWS.
    GatewayResponse("INTEGRATION_FAILURE", 503, "service_unavailable", _UNAVAILABLE, 5),
    GatewayResponse("API_CONFIGURATION_ERROR", 503, "service_unavailable", _UNAVAILABLE, 5),
)


def gateway_responses(auth: str, *, takes_jobs: bool) -> tuple[GatewayResponse, ...]:
    """All kinds that an API with this kind of authorization can give."""
    or_a_job = " or submit a job with POST /jobs" if takes_jobs else ""
    return (
        # AWS's own text, "Missing Authentication Token", is a riddle to whoever misspelt a path.
        GatewayResponse(
            "MISSING_AUTHENTICATION_TOKEN",
            403,
            "no_such_route_or_not_signed" if auth == "iam" else "no_such_route",
            _NO_SUCH_ROUTE[auth].format(routes=_ROUTES_WITH_JOBS if takes_jobs else _ROUTES),
        ),
        GatewayResponse(
            "INTEGRATION_TIMEOUT",
            504,
            "gateway_timeout",
            f"No answer within 29 seconds: ask for fewer tokens{or_a_job}.",
        ),
        *_RESPONSES,
    )
