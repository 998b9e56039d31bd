"""POST /generate."""

from functools import cache

import botocore.session

from inference_api.endpoint_client import ONE_ATTEMPT, EndpointClient
from inference_api.http import Request, Response, answers
from inference_api.request_body import check_request_body
from inference_api.settings import settings


@answers
def handler(request: Request) -> Response:
    """POST /generate: the model's answer to the engine's own body, which is passed on unchanged once it is checked."""
    check_request_body(request.body, request.content_type, settings().request_rules)
    answer = endpoint().invoke(request.body)
    return Response(200, answer.text, content_type=answer.content_type)


@cache
def endpoint() -> EndpointClient:
    client = botocore.session.get_session().create_client("sagemaker-runtime", config=ONE_ATTEMPT)
    return EndpointClient(client, settings().endpoint_name)
