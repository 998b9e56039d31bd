"""POST /generate where the model answers at once."""

from functools import cache

from inference_api import deployed_engine
from inference_api.endpoint_client import EndpointClient, one_call
from inference_api.http import Request, Response, answers
from inference_api.metered_call import admit
from inference_api.request_body import body_for_model, check_request_body
from inference_api.runtime import runtime
from inference_api.settings import settings


@answers
def handler(request: Request) -> Response:
    """POST /generate: the model's answer to the engine's own body, which is checked and passed on."""
    deployed_engine.demand()
    rules = settings().request_rules
    document = check_request_body(request.body, request.content_type, rules, deployed_engine.serves)
    with admit(request, document) as usage:
        answer = endpoint().invoke(body_for_model(request.body, document, rules))
        usage.answer(answer.body)
    return answer.to_response()


@cache
def endpoint() -> EndpointClient:
    client = runtime().client("sagemaker-runtime", one_call(settings().longest_wait_in_seconds))
    return EndpointClient(client, settings().endpoint_name, clock=runtime().now, on_end=deployed_engine.count_call)
