"""How the deployment's engine takes OpenAI's requests, from the catalog of engines."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class OpenAIFacts:
    """Facts about the engine and its model that OpenAI's routes need.

    names: names of the model that callers may use, besides its id. any_model: whether every other name is accepted,
    too. streams: the forms of body, such as `messages`, that the engine streams. asks_usage: the forms in which it
    counts the tokens of a stream if `stream_options` ask for it. inputs: how parameters are named beside a prompt in
    `inputs`: tgi, rolling-batch, plain or transformers. None = the engine takes OpenAI's own `prompt`. keeps_model:
    whether the engine gets `model` as it was sent, because it is not known how an own image uses it. chat_template:
    whether the model is known to have one. The playground then begins with a chat.
    """

    names: Sequence[str] = ()
    any_model: bool = False
    streams: Sequence[str] = ()
    asks_usage: Sequence[str] = ()
    inputs: str | None = None
    keeps_model: bool = False
    chat_template: bool = False
