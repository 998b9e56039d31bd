"""How the deployment's engine takes OpenAI's requests, from the catalog of engines."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class OpenAIFacts:
    """Facts about the engine and its model that OpenAI's routes need.

    names: names of the model that callers may use, besides its id. any_model: whether every other name is accepted,
    too. streams: the forms of body, such as `messages`, that the engine streams. asks_usage: the forms in which it
    counts the tokens of a stream if `stream_options` ask for it. inputs: how parameters are named beside a prompt in
    `inputs`: tgi, rolling-batch, plain or transformers. None = the engine takes OpenAI's own `prompt`. grammar: whether
    a schema for the answer is sent in TGI's form. keeps_model: whether the engine gets `model` as it was sent, because
    it is not known how an own image uses it. chat_template: whether the model is known to have one. The playground then
    begins with a chat.

    Of models that make vectors or scores: embeds, reranks: the form of the engine's body: tei, or openai (vectors) and
    jina (scores); empty if it does not. most_texts: that the engine takes in a call; 0 = any number. takes_ids: whether
    it takes token ids. max_tokens: of one text. vocabulary: how many token ids there are. dimensions: the length of a
    vector. matryoshka: whether the first part of a vector is a good vector, too.
    """

    names: Sequence[str] = ()
    any_model: bool = False
    streams: Sequence[str] = ()
    asks_usage: Sequence[str] = ()
    inputs: str | None = None
    grammar: bool = False
    keeps_model: bool = False
    chat_template: bool = False
    embeds: str = ""
    reranks: str = ""
    most_texts: int = 0
    takes_ids: bool = False
    max_tokens: int | None = None
    vocabulary: int | None = None
    dimensions: int | None = None
    matryoshka: bool = False
