"""What the local language model promises: readable, repeatable text that obeys its sampling."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from local_cloud.model_server.language_model import LanguageModel, Sampling, count_tokens

MODEL = LanguageModel()
PROMPT = "The value of a function is"
GREEDY = Sampling(temperature=0, max_new_tokens=20)

prompts = st.one_of(st.text(max_size=60), st.sampled_from([PROMPT, "Hello, I am a model,", "What is a class?"]))
samplings = st.builds(
    Sampling,
    temperature=st.floats(0, 5),
    top_k=st.integers(-1, 50),
    top_p=st.floats(0.01, 1),
    repetition_penalty=st.floats(0.5, 3),
    seed=st.integers(-(2**63), 2**64),
    max_new_tokens=st.integers(1, 12),
)


@settings(max_examples=60, deadline=None)
@given(prompts, samplings)
def test_the_same_seed_gives_the_same_text(prompt: str, sampling: Sampling) -> None:
    assert MODEL.generate(prompt, sampling) == MODEL.generate(prompt, sampling)


@settings(max_examples=60, deadline=None)
@given(prompts, samplings)
def test_a_text_is_as_long_as_its_limit_and_never_longer(prompt: str, sampling: Sampling) -> None:
    generation = MODEL.generate(prompt, sampling)
    assert generation.generated_tokens == count_tokens(generation.text) == sampling.max_new_tokens


@settings(max_examples=60, deadline=None)
@given(prompts, samplings)
def test_top_k_of_one_is_greedy(prompt: str, sampling: Sampling) -> None:
    only_the_likeliest = replace(sampling, top_k=1)
    assert MODEL.generate(prompt, only_the_likeliest) == MODEL.generate(prompt, replace(sampling, temperature=0))


@settings(max_examples=30, deadline=None)
@given(prompts, samplings)
def test_a_tiny_top_p_is_greedy(prompt: str, sampling: Sampling) -> None:
    greedy = replace(sampling, temperature=0)
    assert MODEL.generate(prompt, replace(sampling, top_k=0, top_p=1e-9)) == MODEL.generate(prompt, greedy)


@settings(max_examples=30, deadline=None)
@given(prompts, samplings, st.sampled_from(["the", "a", "e", " is", "."]))
def test_no_text_holds_its_stop_sequence(prompt: str, sampling: Sampling, stop: str) -> None:
    generation = MODEL.generate(prompt, replace(sampling, stop=(stop,)))
    assert stop not in generation.text
    assert (generation.finish == "stop") == (generation.stop == stop)


def test_different_seeds_differ() -> None:
    texts = {MODEL.generate(PROMPT, Sampling(seed=seed, max_new_tokens=20)).text for seed in range(-4, 5)}
    assert len(texts) == 9


def test_without_a_seed_each_text_is_new() -> None:
    texts = {MODEL.generate(PROMPT, Sampling(max_new_tokens=20)).text for _ in range(5)}
    assert len(texts) > 1


def test_the_prompt_conditions_the_continuation() -> None:
    assert MODEL.generate("The except clause", GREEDY).text != MODEL.generate("a class definition", GREEDY).text


def test_a_repetition_penalty_brings_more_words() -> None:
    longer = replace(GREEDY, max_new_tokens=120)
    words = MODEL.generate(PROMPT, longer).text.split()
    penalised = MODEL.generate(PROMPT, replace(longer, repetition_penalty=2.0)).text.split()
    assert len(set(penalised)) > len(set(words))


def test_without_a_limit_the_text_ends_with_a_sentence() -> None:
    generation = MODEL.generate(PROMPT, Sampling(seed=7))
    assert generation.finish == "end"
    assert generation.text.endswith(".")


@pytest.mark.parametrize(("prompt", "start"), [("The ", ""), ("The", " "), ("", "")])
def test_prompt_and_text_join_with_one_space(prompt: str, start: str) -> None:
    text = MODEL.generate(prompt, GREEDY).text
    assert text[: len(text) - len(text.lstrip())] == start
