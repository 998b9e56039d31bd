"""What the deployment's engine takes of a request."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

# The lowest and highest values of each parameter.
Ranges = Mapping[str, Mapping[str, float]]
# To one request, where the engine has no limit of its own.
MOST_ANSWERS = 2048


@dataclass(frozen=True)
class RequestRules:
    """The deployment's engine: the keys that may hold the prompt, and its own ranges of parameters.

    model_aliases: names of the model that the container refuses, as it serves under another one.
    names: all that the engine takes, by the key with the prompt, then by prefix; None = it ignores the others.
    most_answers: to one request, of all its prompts.
    """

    engine: str
    bodies: tuple[str, ...]
    ranges: Ranges
    max_bytes: int
    model_aliases: tuple[str, ...] = ()
    names: Mapping[str, Mapping[str, Sequence[str]]] | None = None
    most_answers: int = MOST_ANSWERS
