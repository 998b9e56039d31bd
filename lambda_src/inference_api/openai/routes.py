"""POST /chat/completions and POST /completions where the model answers at once."""

from inference_api.http import Request, Response
from inference_api.openai.call import OnUsage, unheard


def chat(request: Request, on_usage: OnUsage = unheard) -> Response:
    """POST /chat/completions: a chat completion, whole or as a stream."""
    raise NotImplementedError


def completions(request: Request, on_usage: OnUsage = unheard) -> Response:
    """POST /completions: a text completion, whole or as a stream."""
    raise NotImplementedError
