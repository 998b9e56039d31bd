"""How the deployment's engine takes OpenAI's requests; the catalog of engines says it."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class OpenAIFacts:
    """names: what a caller may call the model, besides its id. any_model: whether every other name stands for it, too.

    streams: the forms of body, such as `messages`, that the engine streams. asks_usage: those in which it counts the
    tokens of a stream if `stream_options` ask for it.
    inputs: the words that the engine has for parameters where its prompt is `inputs`: tgi, rolling-batch, plain or
    transformers; None = it takes OpenAI's own `prompt`.
    keeps_model: whether the engine gets `model` as it was sent: what an own image does with it is not known.
    chat_template: whether the model is known to have one; the playground then begins with a chat.
    """

    names: Sequence[str] = ()
    any_model: bool = False
    streams: Sequence[str] = ()
    asks_usage: Sequence[str] = ()
    inputs: str | None = None
    keeps_model: bool = False
    chat_template: bool = False
