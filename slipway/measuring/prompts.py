"""Prompts of a load test: made of words by length, or read from a file."""

import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from llm_hosting.file_errors import why

# Frequent English words, each of which is one token of every tokenizer that engines use.
_WORDS = (
    "time year people way day man thing woman life child world school state family student group country problem "
    "hand part place case week company system program question work government number night point home water room "
    "mother area money story fact month lot right study book eye job word business issue side kind head house "
    "service friend father power hour game line end member law car city community name president team minute idea "
    "kid body back"
)


class PromptsError(ValueError):
    """A file of prompts can't be used; the message is one sentence."""


@dataclass(frozen=True)
class Prompt:
    """One prompt. answer_tokens: the most tokens of its answer; None = the deployment's default."""

    text: str
    answer_tokens: int | None


@dataclass(frozen=True)
class Prompts:
    """The prompts of a run. origin: for the report. prompt_tokens, answer_tokens: as requested; None = as in the
    file.
    """

    origin: str
    prompt_tokens: int | None
    answer_tokens: int | None
    given: Sequence[Prompt] = ()

    def drawn(self, seed: int) -> Iterator[Prompt]:
        """Prompts without end. Synthetic prompts all differ, so that an engine can't answer from its prefix cache."""
        chance = random.Random(seed)
        while True:
            if self.given:
                yield chance.choice(self.given)
            else:
                words = chance.choices(_WORDS.split(), k=self.prompt_tokens or 1)
                yield Prompt(" ".join(words), self.answer_tokens)


def from_file(path: Path, answer_tokens: int) -> Prompts:
    """Read JSON lines with `prompt`, and `max_tokens` for another length of the answer. Raises PromptsError."""
    try:
        lines = path.read_text(encoding="utf-8-sig").split("\n")  # a text may hold other ends of lines
    except (OSError, UnicodeError) as error:
        raise PromptsError(f"--prompts: {path} can't be read: {why(error)}.") from None
    given = [_prompt(path, number, line, answer_tokens) for number, line in enumerate(lines, 1) if line.strip()]
    if not given:
        raise PromptsError(f"--prompts: {path} holds no prompt; write one JSON object with `prompt` on each line.")
    return Prompts(path.name, None, None, given)


def _prompt(path: Path, number: int, line: str, answer_tokens: int) -> Prompt:
    try:
        content = json.loads(line)
        text, tokens = content["prompt"], content.get("max_tokens", answer_tokens)
    except (ValueError, LookupError, TypeError, AttributeError):
        text, tokens = None, None
    if not isinstance(text, str) or not text or not isinstance(tokens, int) or tokens < 1:
        form = '{"prompt": "...", "max_tokens": 100}'
        raise PromptsError(f"--prompts: line {number} of {path} is not a prompt; write it as {form}.")
    return Prompt(text, tokens)
