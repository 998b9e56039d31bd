"""The local model's texts are repeatable and have the requested length."""

import pytest

from local_cloud.model_server.text.generator import count_tokens, generate

PROMPT = "The value of a function is"


def test_prompt_and_seed_decide_the_text() -> None:
    assert generate(PROMPT, 20, seed=1) == generate(PROMPT, 20, seed=1)
    assert len({generate(prompt, 20, seed=seed).text for prompt in (PROMPT, "Hello") for seed in range(5)}) == 10


@pytest.mark.parametrize("limit", [1, 7, 500, 100_000])
def test_a_text_is_as_long_as_its_limit(limit: int) -> None:
    generation = generate(PROMPT, limit)
    assert generation.tokens == count_tokens(generation.text) == limit


def test_without_a_limit_a_text_ends_with_a_sentence() -> None:
    generation = generate(PROMPT, None)
    assert (generation.complete, generation.text[-1]) == (True, ".")


def test_a_text_ends_before_its_first_stop_sequence() -> None:
    words = generate(PROMPT, 10).text.split()
    generation = generate(PROMPT, 10, (words[6], words[3], "no such word"))
    assert (generation.stop, generation.text.split()) == (words[3], words[:3])


@pytest.mark.parametrize(("prompt", "start"), [("The ", ""), ("The", " "), ("", "")])
def test_prompt_and_text_join_with_one_space(prompt: str, start: str) -> None:
    text = generate(prompt, 5).text
    assert text[: len(text) - len(text.lstrip())] == start
