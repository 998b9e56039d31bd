"""POST /generate, /chat/completions and /completions where the model answers at once."""

from functools import cache

from inference_api import deployed_engine
from inference_api.endpoint_client import EndpointClient, one_call
from inference_api.heartbeat import opened
from inference_api.http import Request, Response, StreamedResponse, streams
from inference_api.metered_call import admit
from inference_api.openai import routes
from inference_api.openai.parts import objects
from inference_api.openai.sse import events
from inference_api.request_body import body_for_model, check_request_body
from inference_api.runtime import runtime
from inference_api.settings import settings
from inference_api.streaming_runtime import serve
from inference_api.time_budget import limit_whole_answer


@streams
def route(request: Request) -> Response | StreamedResponse:
    """By the request's path."""
    match request.resource:
        case "/chat/completions":
            return routes.chat(request)
        case "/completions":
            return routes.completions(request)
    return generate(request)


def generate(request: Request) -> Response | StreamedResponse:
    """POST /generate: the model's answer to the engine's own body, which is checked and passed on."""
    deployed_engine.demand()
    rules = settings().request_rules
    document = check_request_body(
        request.body, request.content_type, rules, deployed_engine.serves, may_stream=bool(settings().openai.streams)
    )
    body = body_for_model(request.body, document, rules)
    with admit(request, document) as usage:
        if document.get("stream"):
            client = routes.endpoint()
            pieces = usage.measured(events(objects(client.stream(body))))
            return StreamedResponse(opened(pieces, interrupt=client.hang_up))
        limit_whole_answer()
        answer = endpoint().invoke(body)
        usage.answer(answer.body)
    return answer.to_response()


@cache
def endpoint() -> EndpointClient:
    client = runtime().client("sagemaker-runtime", one_call(settings().longest_wait_in_seconds))
    return EndpointClient(client, settings().endpoint_name, clock=runtime().now, on_end=deployed_engine.count_call)


handler = serve(route)
