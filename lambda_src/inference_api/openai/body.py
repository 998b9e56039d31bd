"""The body of an OpenAI request -> the body that the engine takes."""

from collections.abc import Callable
from dataclasses import dataclass

from inference_api.http import Request
from inference_api.openai.call import OpenAICall
from inference_api.request_body import RequestRules


@dataclass(frozen=True)
class OpenAIFacts:
    """How the deployment's engine takes OpenAI's requests.

    model_id: the name that answers have. names: others that a caller may use for the model.
    streams: the forms of body that the engine streams; asks_usage: those in which it counts tokens if asked.
    inputs: the words that it has for the parameters of `inputs`: tgi, rolling-batch or plain; None = not known.
    keeps_model: whether `model` is the engine's business, as in an own image.
    """

    model_id: str
    names: tuple[str, ...] = ()
    streams: tuple[str, ...] = ()
    asks_usage: tuple[str, ...] = ()
    inputs: str | None = None
    keeps_model: bool = False


def read_call(
    request: Request, rules: RequestRules, facts: OpenAIFacts, engine_serves: Callable[[], bool], *, chat: bool
) -> OpenAICall:
    """The request of POST /chat/completions or POST /completions, checked and in the engine's words.

    Raises ApiError 400, 404 `model_not_found`, 413 or 415.
    """
    raise NotImplementedError
