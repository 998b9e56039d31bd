"""The headers that let web pages of named origins read an answer.

API Gateway answers the preflights, and has headers of its own (llm_hosting/api/cors.py).
"""

from collections.abc import Mapping

from inference_api.shared.settings import cors_origins

READABLE = (
    "location",
    "openai-model",
    "openai-processing-ms",
    "retry-after",
    "x-ratelimit-limit-requests",
    "x-ratelimit-limit-tokens",
    "x-ratelimit-remaining-tokens",
    "x-ratelimit-reset-tokens",
    "x-request-id",
    "x-should-retry",
    "x-trace-id",
)


def cors_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """Return the headers of an answer. headers: the request's, as API Gateway gives them."""
    if not cors_origins():
        return {}
    origin = next((value for name, value in headers.items() if name.lower() == "origin"), None)
    if origin not in cors_origins():
        return {"vary": "origin"}
    return {
        "vary": "origin",
        "access-control-allow-origin": origin,
        "access-control-expose-headers": ", ".join(READABLE),
    }
