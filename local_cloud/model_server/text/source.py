"""The interface between engines and the program that writes their texts."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol


class Piece(NamedTuple):
    """A part of a text as it is written."""

    text: str
    is_last: bool


@dataclass(frozen=True)
class Prompt:
    """One prompt and how to answer it.

    body: the member that held it. messages: the chat whose texts are `text`. most_tokens: None = no limit.
    copy: the number of this answer to the prompt, from 0. parameters: as the request has them.
    adapter: the adapter that answers; "" = the model without one. seen, picture_tokens: of the chat's pictures.
    """

    text: str
    body: str = "inputs"
    messages: tuple[Mapping[str, str], ...] = ()
    most_tokens: int | None = None
    stop: tuple[str, ...] = ()
    seed: int | None = None
    copy: int = 0
    parameters: Mapping[str, Any] = field(default_factory=dict)
    adapter: str = ""
    seen: str = ""
    picture_tokens: int = 0


class Generation(Protocol):
    """An answer without its prompt.

    logprob: the log probability of each token; None = not known. tokens: of the answer. stop: the stop sequence before
    which the text was cut. complete: whether the text ended by itself rather than at a limit. The last four properties
    wait for the whole text.
    """

    @property
    def prompt_tokens(self) -> int: ...
    @property
    def logprob(self) -> float | None: ...
    @property
    def text(self) -> str: ...
    @property
    def tokens(self) -> int: ...
    @property
    def stop(self) -> str | None: ...
    @property
    def complete(self) -> bool: ...
    def pieces(self) -> Iterator[Piece]:
        """The parts of the text as they are written; at least one. To be called once."""


class TextSource(Protocol):
    """Writes texts. context: the most tokens of a prompt with its answer. Both facts are None if any value will do."""

    @property
    def context(self) -> int | None: ...
    @property
    def has_chat_template(self) -> bool | None: ...
    def count_tokens(self, prompt: Prompt) -> int: ...
    def begin(self, prompts: Sequence[Prompt]) -> Sequence[Generation]:
        """Begin all answers. Raises RefusedError and EngineFailedError."""
