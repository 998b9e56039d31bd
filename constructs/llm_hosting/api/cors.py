"""Calls from web pages of other origins: the answers to preflights, and the headers of API Gateway's own answers.

The functions' own headers are in lambda_src/inference_api/http/cors.py.
"""

from collections.abc import Sequence

import aws_cdk as cdk
from aws_cdk import aws_apigateway as apigateway

from ..acknowledgement import acknowledge
from ..deployment.settings.api import Api, Cors

# The headers that callers may send. The SDK of OpenAI for JavaScript sends the x-stainless ones with every call.
_HEADERS = (
    "authorization",
    "content-type",
    "idempotency-key",
    "user-agent",
    "x-api-key",
    "x-wait",
    "openai-beta",
    "openai-organization",
    "openai-project",
    *(
        f"x-stainless-{name}"
        for name in (
            "arch",
            "custom-poll-interval",
            "helper-method",
            "lang",
            "os",
            "package-version",
            "poll-helper",
            "retry-count",
            "runtime",
            "runtime-version",
            "timeout",
        )
    ),
)
_OF_SIGNATURES = ("x-amz-content-sha256", "x-amz-date", "x-amz-security-token")
_REMEMBERED = cdk.Duration.hours(2)  # the longest that Chromium remembers a preflight
_TELLS_NOTHING = (
    "Browsers send no credentials with a preflight. Its fixed answer names the origins, methods and headers that the "
    "deployment allows; no function and no data stand behind it."
)


def add_preflight(resource: apigateway.IResource, methods: Sequence[str], settings: Api) -> None:
    """Answer the preflights of a path: a named origin gets its own name back, any other one the first named one."""
    assert settings.cors
    preflight = resource.add_cors_preflight(
        allow_origins=settings.cors.origins,
        allow_methods=list(methods),
        allow_headers=[*_HEADERS, *(_OF_SIGNATURES if settings.auth == "iam" else ())],
        max_age=_REMEMBERED,
    )
    acknowledge(preflight, dict.fromkeys(("AwsSolutions-COG4", "AwsSolutions-APIG4"), _TELLS_NOTHING))


def headers_of_gateway(cors: Cors, *more: str) -> dict[str, str]:
    """Return headers for API Gateway's own answers. They are fixed, so only pages of the first origin can read them.

    more: names of further headers that pages may read.
    """
    readable = ",".join(("retry-after", "x-request-id", "x-should-retry", *more))
    return {
        "access-control-allow-origin": f"'{cors.origins[0]}'",
        "access-control-expose-headers": f"'{readable}'",
    }
