"""GET /models and GET /models/{id}."""

from typing import Any
from urllib.parse import unquote

from inference_api.http.gateway import Request, Response, answers
from inference_api.model import deployed_engine
from inference_api.shared import errors
from inference_api.shared.conditional_writes import PASSING_ERRORS
from inference_api.shared.errors import ApiError
from inference_api.shared.settings import settings


@answers
def handler(request: Request) -> Response:
    """GET /models: the deployment's model in OpenAI's form, if the key may use it. `status` is our own member."""
    name = request.path.get("id")
    if name is None:
        return Response(200, {"object": "list", "data": [_model()] if _is_for(request) else []})
    name = unquote(name)  # clients send the slash of an id as it is, or escaped
    if not _is_for(request) or name not in settings().model_names:
        raise errors.model_not_found(name)
    return Response(200, _model())


def _model() -> dict[str, Any]:
    owner, _, name = settings().model_id.rpartition("/")
    return {
        "id": settings().model_id,
        "object": "model",
        "created": 0,  # unknown
        "owned_by": owner or name,
        "status": _status(),
    }


def _status() -> str | None:
    try:
        return deployed_engine.state()
    except (ApiError, *PASSING_ERRORS):
        return None


def _is_for(request: Request) -> bool:
    return request.key is None or request.key.may_ask_for(settings().model_id, settings().model_names)
