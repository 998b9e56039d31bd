"""A word n-gram model made at start-up from the language reference that every CPython ships."""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pydoc_data.topics import topics
from random import Random
from typing import Literal

# Two earlier words say far more about the next one than one does; one keeps variety where the pair was seen once.
PAIR_SHARE = 0.8
# Without a limit an answer ends with the first sentence that reaches this many words.
ENOUGH_WORDS = 50


@dataclass(frozen=True)
class Sampling:
    """How the next word is chosen; temperature 0 takes the likeliest, top_k 0 or less and top_p 1 keep every word."""

    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 1.0
    repetition_penalty: float = 1.0
    seed: int | None = None
    max_new_tokens: int | None = None
    stop: tuple[str, ...] = ()


@dataclass(frozen=True)
class Generation:
    """A continuation without its prompt, cut before `stop`."""

    text: str
    generated_tokens: int
    finish: Literal["length", "stop", "end"]
    stop: str | None = None


def count_tokens(text: str) -> int:
    """One word counts as one token, where a real tokenizer makes about four word pieces of three words."""
    return len(text.split())


class LanguageModel:
    """Continues a prompt word by word; the same prompt, sampling and seed give the same text."""

    def __init__(self) -> None:
        self._followers: defaultdict[tuple[str, ...], list[str]] = defaultdict(list)
        for words in _paragraphs():
            self._followers[()].append(words[0])
            for position, word in enumerate(words[1:], start=1):
                self._followers[words[position - 1],].append(word)
                if position > 1:
                    self._followers[words[position - 2], words[position - 1]].append(word)
        self._followers.default_factory = None

    def generate(self, prompt: str, sampling: Sampling) -> Generation:
        """Continue the prompt until a limit, a stop sequence or, without a limit, the end of a sentence."""
        # Random drops the sign of an integer seed, so it gets the text of it.
        random = Random(None if sampling.seed is None else str(sampling.seed))
        prompt_words = prompt.split()
        context = self._context(prompt_words)
        seen = set(prompt_words)
        text = ""
        separator = " " if prompt and not prompt[-1].isspace() else ""
        generated = 0

        def ended(finish: Literal["length", "stop", "end"], text: str, stop: str | None = None) -> Generation:
            return Generation(text, generated, finish, stop)

        while sampling.max_new_tokens is None or generated < sampling.max_new_tokens:
            word = self._next_word(context, seen, sampling, random)
            text += separator + word
            separator = " "
            generated += 1
            seen.add(word)
            context = (*context[-1:], word)
            if found := [(text.index(stop), stop) for stop in sampling.stop if stop in text]:
                end, stop = min(found)
                return ended("stop", text[:end], stop)
            if sampling.max_new_tokens is None and generated >= ENOUGH_WORDS and word.endswith("."):
                return ended("end", text)
        return ended("length", text)

    def _context(self, prompt_words: list[str]) -> tuple[str, ...]:
        """The prompt's last two words that the model knows."""
        spellings = ((word, word.strip("\"'.,;:!?()"), word.lower().strip("\"'.,;:!?()")) for word in prompt_words)
        known = [next((word for word in forms if (word,) in self._followers), None) for forms in spellings]
        return tuple(word for word in known if word)[-2:]

    def _next_word(self, context: tuple[str, ...], seen: set[str], sampling: Sampling, random: Random) -> str:
        shares = self._shares(context)
        penalty = math.log(sampling.repetition_penalty)
        scores = {word: math.log(share) - (penalty if word in seen else 0.0) for word, share in shares.items()}
        ranked = sorted(scores, key=lambda word: (-scores[word], word))
        if sampling.temperature == 0:
            return ranked[0]
        if sampling.top_k > 0:
            ranked = ranked[: sampling.top_k]
        likeliest = scores[ranked[0]]
        weights = [math.exp((scores[word] - likeliest) / sampling.temperature) for word in ranked]
        nucleus = _nucleus_size(weights, sampling.top_p)
        return random.choices(ranked[:nucleus], weights[:nucleus])[0]

    def _shares(self, context: tuple[str, ...]) -> dict[str, float]:
        """How likely each next word is, by the last two words where the pair is known, else by the last one."""
        single = self._followers.get(context[-1:]) or self._followers[()]
        pair = self._followers.get(context) if len(context) == 2 else None
        single_share = (1 - PAIR_SHARE if pair else 1.0) / len(single)
        shares = {word: count * single_share for word, count in Counter(single).items()}
        if pair:
            for word, count in Counter(pair).items():
                shares[word] += count * PAIR_SHARE / len(pair)
        return shares


def _nucleus_size(weights: list[float], top_p: float) -> int:
    """How many of the likeliest words reach the share `top_p`; never fewer than one."""
    wanted = top_p * sum(weights)
    reached = 0.0
    for size, weight in enumerate(weights, start=1):
        reached += weight
        if reached >= wanted:
            return size
    return len(weights)


def _paragraphs() -> Iterator[list[str]]:
    """Paragraphs of plain English; code, grammar and tables are left out."""
    for name in sorted(topics):
        for paragraph in topics[name].split("\n\n"):
            text = re.sub(r'["*`“”]', "", " ".join(paragraph.split()))
            sentences = re.findall(r"(?<![a-z,;] )\b[A-Z][a-z]*[A-Za-z ,;:'\u2019-]{20,}\.(?= |$)", text)
            if sentences:
                yield " ".join(sentences).split()
