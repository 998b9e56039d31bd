"""The rules of the deployment's engine for requests."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

# The lowest and highest values of each parameter.
Ranges = Mapping[str, Mapping[str, float]]
# The most answers to one request if the engine has no limit of its own.
MOST_ANSWERS = 2048


@dataclass(frozen=True)
class RequestRules:
    """The rules of one engine.

    engine: its name for error messages. bodies: the keys that may hold the prompt. max_bytes: of the body.
    model_aliases: names of the model that callers may use but the container refuses, because it serves another name.
    names: all parameters that the engine takes, by the key with the prompt, then by prefix; None = it ignores unknown
    ones. most_answers: to all prompts of one request.
    """

    engine: str
    bodies: tuple[str, ...]
    ranges: Ranges
    max_bytes: int
    model_aliases: tuple[str, ...] = ()
    names: Mapping[str, Mapping[str, Sequence[str]]] | None = None
    most_answers: int = MOST_ANSWERS
