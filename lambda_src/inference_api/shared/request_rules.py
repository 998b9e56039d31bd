"""The rules of the deployment's engine for requests."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

# The lowest and highest values of each parameter.
Ranges = Mapping[str, Mapping[str, float]]
# The most answers to one request if the engine has no limit of its own.
MOST_ANSWERS = 2048


@dataclass(frozen=True)
class ImageRules:
    """What a deployment takes of images.

    most: in one request; None = no limit. hosts: from which the container may load images. law: how the model turns an
    image into tokens, as the catalog's VisionShape; empty = not known. context: the most tokens of prompt and answer;
    None = not known. in_texts: whether the engine loads images that a text names in Markdown.
    """

    most: int | None = None
    hosts: Sequence[str] = ()
    law: Mapping[str, object] = field(default_factory=dict)
    context: int | None = None
    in_texts: bool = False


@dataclass(frozen=True)
class RequestRules:
    """The rules of one engine.

    engine: its name for error messages. bodies: the keys that may hold the prompt. max_bytes: of the body.
    model_aliases: names of the model that callers may use but the container refuses, because it serves another name.
    names: all parameters that the engine takes, by the key with the prompt, then by prefix; None = it ignores unknown
    ones. most_answers: to all prompts of one request. makes_text: False for engines that make vectors or scores, whose
    answers have no tokens. images: None = the model takes texts only.
    """

    engine: str
    bodies: tuple[str, ...]
    ranges: Ranges
    max_bytes: int
    model_aliases: tuple[str, ...] = ()
    names: Mapping[str, Mapping[str, Sequence[str]]] | None = None
    most_answers: int = MOST_ANSWERS
    makes_text: bool = True
    images: ImageRules | None = None
