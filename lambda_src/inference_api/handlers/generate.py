"""POST /generate."""

from functools import cache

from inference_api.endpoint_client import WHILE_CALLER_WAITS, EndpointClient
from inference_api.http import Request, Response, answers
from inference_api.request_body import check_request_body
from inference_api.runtime import runtime
from inference_api.settings import settings


@answers
def handler(request: Request) -> Response:
    """POST /generate: the model's answer to the engine's own body, which is passed on unchanged once it is checked."""
    if settings().hosting_mode == "async":
        # Not at the top: a real-time endpoint's function starts without what jobs need.
        from inference_api.jobs.generation_by_job import generate

        return generate(request)
    check_request_body(request.body, request.content_type, settings().request_rules)
    text, content_type = endpoint().invoke(request.body)
    return Response(200, text, content_type=content_type)


@cache
def endpoint() -> EndpointClient:
    return EndpointClient(
        runtime().client("sagemaker-runtime", WHILE_CALLER_WAITS), settings().endpoint_name, runtime().now
    )
