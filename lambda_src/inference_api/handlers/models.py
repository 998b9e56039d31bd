"""GET /models and GET /models/{id}."""

from collections.abc import Collection
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
    """GET /models: the model and its adapters in OpenAI's form, if the key may use them. `status` is our own member."""
    name, offered = request.path.get("id"), _offered(request)
    if name is None:
        status = _status() if offered else None
        return Response(200, {"object": "list", "data": [_model(each, status) for each in offered]})
    name = unquote(name)  # clients send the slash of an id as it is, or escaped
    of_model = settings().model_id if name in settings().model_names else name
    if of_model not in offered:
        raise errors.model_not_found(name)
    return Response(200, _model(of_model, _status()))


def _offered(request: Request) -> list[str]:
    """Return the ids of the model and of its adapters that the caller's key may use."""
    names: dict[str, Collection[str]] = {settings().model_id: settings().model_names}
    names |= {each: (each,) for each in settings().adapters}
    return [name for name in names if request.key is None or request.key.may_ask_for(name, names[name])]


def _model(name: str, status: str | None) -> dict[str, Any]:
    model_id = settings().model_id
    owner, _, last = model_id.rpartition("/")
    of_adapter = {} if name == model_id else {"root": name, "parent": model_id}  # as vLLM shows them
    return {
        "id": name,
        "object": "model",
        "created": 0,  # unknown
        "owned_by": owner or last,
        "status": status,
        **of_adapter,
    }


def _status() -> str | None:
    try:
        return deployed_engine.state()
    except (ApiError, *PASSING_ERRORS):
        return None
