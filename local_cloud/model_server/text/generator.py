"""The local model: writes sentences from the language reference that every CPython contains."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pydoc_data.topics import topics
from random import Random

from local_cloud.model_server.text.source import Piece, Prompt

# Without a limit, a text ends after the first sentence that reaches this number of words.
ENOUGH_WORDS = 30


@dataclass(frozen=True)
class Generation:
    """A generated text without its prompt, cut before the stop sequence `stop`.

    complete: whether it ended with a sentence rather than at a limit.
    """

    text: str
    tokens: int
    stop: str | None
    complete: bool
    prompt_tokens: int
    logprob = -0.5

    def pieces(self) -> Iterator[Piece]:
        """The text, word by word."""
        return pieces_of(self.text)


class TextGenerator:
    """Answers every prompt at once. The text begins with the adapter's name in brackets, if one answers, and quotes the
    tool's output with which a chat ends.
    """

    context = has_chat_template = None

    def count_tokens(self, prompt: Prompt) -> int:
        return count_tokens(prompt.text) + prompt.picture_tokens

    def begin(self, prompts: Sequence[Prompt]) -> list[Generation]:
        return [self._answer(prompt) for prompt in prompts]

    def _answer(self, prompt: Prompt) -> Generation:
        seed = (prompt.seed or 0) + prompt.copy
        opening = [f"[{prompt.adapter}]"] if prompt.adapter else []
        if prompt.messages and prompt.messages[-1]["role"] == "tool":
            opening += prompt.messages[-1]["content"].split()
        found = generate(prompt.text, prompt.most_tokens, prompt.stop, seed, [*opening, *prompt.seen.split()])
        if prompt.body != "messages":
            return found
        tokens = found.prompt_tokens + prompt.picture_tokens
        return replace(found, text=found.text.strip(), prompt_tokens=tokens)


def count_tokens(text: str) -> int:
    """Count tokens: one word is one token."""
    return len(text.split())


def tokens_of(text: str) -> list[str]:
    """Split the text into tokens, each with the space before it."""
    return re.findall(r"\s*\S+\s*$|\s*\S+", text)


def pieces_of(text: str) -> Iterator[Piece]:
    """The tokens of a text; an empty text has one empty piece."""
    tokens = tokens_of(text) or [""]
    return (Piece(token, number == len(tokens)) for number, token in enumerate(tokens, 1))


def generate(
    prompt: str, most_tokens: int | None, stop: tuple[str, ...] = (), seed: int = 0, opening: Sequence[str] = ()
) -> Generation:
    """Generate a text up to a limit, a stop sequence or the end of a sentence; the same prompt and seed give the same.

    The text begins with the words of `opening`, and the prompt's first word beyond ASCII, such as an emoji; the rest is
    plain English.
    """
    sentences = _sentences()
    position = Random(f"{seed} {prompt}").randrange(len(sentences))
    words = [*opening]
    words += [word for word in prompt.split() if not word.isascii() and word.isprintable()][:1]
    while len(words) < (ENOUGH_WORDS if most_tokens is None else most_tokens):
        words += sentences[position % len(sentences)].split()
        position += 1
    complete = len(words[:most_tokens]) == len(words)
    text = (" " if prompt and not prompt[-1].isspace() else "") + " ".join(words[:most_tokens])
    end, found = min(((text.index(each), each) for each in stop if each in text), default=(len(text), None))
    return Generation(text[:end], count_tokens(text[:end]), found, complete, count_tokens(prompt))


@cache
def _sentences() -> list[str]:
    """The sentences of plain English, without code, grammar and tables."""
    found: dict[str, None] = {}
    for name in sorted(topics):
        text = re.sub(r'["*`“”]', "", " ".join(topics[name].split()))
        found |= dict.fromkeys(re.findall(r"(?<=\. )[A-Z][a-z]*[A-Za-z ,;:'\u2019-]{20,}\.(?= |$)", text))
    return list(found)
