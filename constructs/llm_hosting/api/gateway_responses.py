"""API Gateway's own answers to requests that reach no function: statuses, texts and headers.

The functions' own statuses and texts are in lambda_src/inference_api/shared/errors.py.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ..deployment.settings.api import Api
from .routes import Route


@dataclass(frozen=True)
class GatewayResponse:
    """The answer to one of API Gateway's kinds of failure.

    status: the HTTP status; None = API Gateway's own for this kind.
    may_have_run: whether the model may have worked on the request. A client that sent it again would pay twice.
    challenge: the header `www-authenticate`; None = none.
    """

    kind: str
    status: int | None
    code: str
    message: str
    retry_after_in_seconds: int | None = None
    may_have_run: bool = False
    challenge: str | None = None

    @property
    def type(self) -> str:
        """The error's `type`, as in inference_api.shared.errors. A kind without a status of its own is a refusal."""
        kinds = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}
        status = self.status or 400
        return kinds.get(status) or ("server_error" if status >= 500 else "invalid_request_error")

    @property
    def template(self) -> str:
        """The body in our JSON shape, which OpenAI's clients read, too."""
        return json.dumps({"error": {"code": self.code, "message": self.message, "type": self.type, "param": None}})

    @property
    def headers(self) -> dict[str, str]:
        """The headers that functions send, too. API Gateway's mapping language quotes fixed values."""
        headers = {
            "x-request-id": "context.requestId",
            "x-content-type-options": "'nosniff'",
            "cache-control": "'no-store'",
        }
        if self.retry_after_in_seconds is not None:
            headers["retry-after"] = f"'{self.retry_after_in_seconds}'"
        if self.may_have_run:
            headers["x-should-retry"] = "'false'"
        if self.challenge is not None:
            headers["www-authenticate"] = f"'{self.challenge}'"
        return headers


_NO_SUCH_ROUTE = {
    "iam": "No such route, or the request is not signed: use {routes}, signed with AWS Signature Version 4 for the "
    "service execute-api.",
    "api-key": "No such route: use {routes}, with a key in x-api-key or, on OpenAI's routes, as Authorization: Bearer.",
    "jwt": "No such route: use {routes}, with a token as Authorization: Bearer.",
    "none": "No such route: use {routes}.",
}
UNKNOWN_ROUTE = "MISSING_AUTHENTICATION_TOKEN"  # its own text hides that the route is unknown
_UNAVAILABLE = "The service can't take the request at the moment: wait, then send it again."
_SEND_A_KEY = (
    "Send a valid key of this API: as Authorization: Bearer on OpenAI's routes, in the header x-api-key on the others."
)
_OF_SIGNATURES = (
    GatewayResponse(
        "INVALID_SIGNATURE",
        403,
        "invalid_signature",
        "The signature does not match: check secret key, region, service (execute-api), body and clock.",
    ),
    GatewayResponse("EXPIRED_TOKEN", 403, "expired_token", "The temporary credentials have expired: get new ones."),
)
THROTTLED = GatewayResponse(
    "THROTTLED", 429, "throttled", "Too many requests at once: wait, then send the request again.", 1
)
BODY_TOO_LARGE = GatewayResponse(
    "REQUEST_TOO_LARGE", 413, "body_too_large", "The body is too large: send a shorter one."
)
_FILTERED = GatewayResponse(
    "WAF_FILTERED",
    403,
    "request_filtered",
    "The web ACL in front of the API refused the request: send another path, query or header, or ask its operator.",
)
# A token that is missing, malformed, expired, or not meant for this API.
_NO_TOKEN = GatewayResponse(
    "UNAUTHORIZED",
    401,
    "invalid_token",
    "Send a valid token of this API's issuer, meant for this API, as Authorization: Bearer.",
    challenge="Bearer",
)
# A key that is missing, malformed, or in no usage plan.
_NO_KEY = GatewayResponse("UNAUTHORIZED", 401, "invalid_api_key", _SEND_A_KEY)
_RESPONSES = (
    GatewayResponse("INVALID_API_KEY", 401, "invalid_api_key", _SEND_A_KEY),
    THROTTLED,
    GatewayResponse(
        "QUOTA_EXCEEDED",
        429,
        "quota_exceeded",
        "The quota of this API key is used up: wait for the next period or ask for a larger quota.",
        3600,
    ),
    GatewayResponse(
        "DEFAULT_4XX",
        None,  # each kind keeps its own
        "request_refused",
        "The request can't be accepted: check path, headers, body and, where requests are signed, the credentials.",
    ),
    GatewayResponse("DEFAULT_5XX", 503, "service_unavailable", _UNAVAILABLE, 5),
    # These kinds of 5XX have a status of their own. Whether DEFAULT_5XX covers them was not tried on AWS.
    GatewayResponse("INTEGRATION_FAILURE", 503, "service_unavailable", _UNAVAILABLE, 5),
    GatewayResponse("API_CONFIGURATION_ERROR", 503, "service_unavailable", _UNAVAILABLE, 5),
)

# The authorizer failed or was throttled. Like INTEGRATION_FAILURE, these kinds have the status 500.
_AUTHORIZER_FAILED = tuple(
    GatewayResponse(kind, 503, "service_unavailable", _UNAVAILABLE, 5)
    for kind in ("AUTHORIZER_FAILURE", "AUTHORIZER_CONFIGURATION_ERROR")
)


def gateway_responses(settings: Api, routes: Sequence[Route]) -> tuple[GatewayResponse, ...]:
    """Return API Gateway's own answers for an API with these settings and routes."""
    auth, ids = settings.auth, {route.id for route in routes}
    of_files = "; a file has at most 4.5 MB" if "createFile" in ids else ""
    or_a_job = " or submit a job with POST /jobs" if "submitJob" in ids else ""
    return (
        *_unknown_route(auth, _hint(routes)),
        _access_denied(settings),
        *((_FILTERED,) if settings.waf or settings.waf_acl_arn else ()),
        *(_AUTHORIZER_FAILED if auth in ("api-key", "jwt") else ()),
        GatewayResponse(
            "INTEGRATION_TIMEOUT",
            504,
            "gateway_timeout",
            f"No answer in time: ask for fewer tokens{or_a_job}.",
            may_have_run=True,
        ),
        replace(BODY_TOO_LARGE, message=BODY_TOO_LARGE.message.removesuffix(".") + f"{of_files}."),
        _NO_TOKEN if auth == "jwt" else _NO_KEY,
        *_RESPONSES,
    )


def _unknown_route(auth: str, routes: str) -> tuple[GatewayResponse, ...]:
    """Return the answers to unknown routes.

    Without `auth: iam` a catch-all route answers most of them (inference_api.py); these answer the rest.
    """
    said = _NO_SUCH_ROUTE[auth].format(routes=routes)
    if auth == "iam":
        return (GatewayResponse(UNKNOWN_ROUTE, 403, "no_such_route_or_not_signed", said), *_OF_SIGNATURES)
    # Known routes accept every content type; their functions check it.
    kinds = (UNKNOWN_ROUTE, "UNSUPPORTED_MEDIA_TYPE")
    return tuple(GatewayResponse(kind, 404, "no_such_route", said) for kind in kinds)


def _access_denied(settings: Api) -> GatewayResponse:
    if settings.has_policy:  # one text, because API Gateway does not say what refused
        said = (
            "The API refuses the caller: its policy lets in certain accounts, addresses or VPC endpoints only, or the "
            "caller's permission, key or token does not suffice."
        )
    elif settings.auth == "api-key":  # by the authorizer for an expired key
        refused = "The API refuses this key, as it does one that has expired: ask its operator for a new one."
        return GatewayResponse("ACCESS_DENIED", 401, "invalid_api_key", refused)
    elif settings.auth == "jwt":
        lacking = "The token is valid, but lacks a claim or a group that this API asks for: ask its operator."
        return GatewayResponse(
            "ACCESS_DENIED", 403, "access_denied", lacking, challenge='Bearer error="insufficient_scope"'
        )
    else:
        said = "The caller may not use this route: it needs execute-api:Invoke on it."
    return GatewayResponse("ACCESS_DENIED", 403, "access_denied", said)


def _hint(routes: Sequence[Route]) -> str:
    """Return the known routes as text: `POST /generate, GET or DELETE /jobs/{id}, or GET /endpoint`."""
    by_path: dict[str, list[str]] = {}
    for route in routes:
        if route.is_hint:
            by_path.setdefault(route.path, []).append(route.method)
    *others, last = (f"{' or '.join(methods)} {path}" for path, methods in by_path.items())
    return ", ".join([*others, f"or {last}"])
