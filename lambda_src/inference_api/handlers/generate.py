"""POST /generate where the model answers at once."""

from functools import cache

from inference_api import deployed_engine
from inference_api.endpoint_client import WHILE_CALLER_WAITS, EndpointClient
from inference_api.http import Request, Response, answers
from inference_api.request_body import body_for_model, check_request_body
from inference_api.runtime import runtime
from inference_api.settings import settings


@answers
def handler(request: Request) -> Response:
    """POST /generate: the model's answer to the engine's own body, which is checked and passed on."""
    rules = settings().request_rules
    document = check_request_body(request.body, request.content_type, rules, deployed_engine.serves)
    return endpoint().invoke(body_for_model(request.body, document, rules)).to_response()


@cache
def endpoint() -> EndpointClient:
    return EndpointClient(
        runtime().client("sagemaker-runtime", WHILE_CALLER_WAITS),
        settings().endpoint_name,
        clock=runtime().now,
        on_end=deployed_engine.count_call,
    )
