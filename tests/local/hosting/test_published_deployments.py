"""Each published deployment answers that system's own request, in its engine's own shape."""

from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from slipway.local.question import QUESTIONS
from support.stacks.deployed_stacks import Apis

PROMPTS = ["Summarize: the cat sat on the mat because the mat was warm.", "Translate to German: the house is small."]
QUESTION = "What is the capital of France?"


class Exchange(NamedTuple):
    """A published system's request, and a check of the answer's shape."""

    body: dict[str, Any]
    fits: Callable[[Any], bool]


def is_texts(answer: Any, count: int) -> bool:
    return isinstance(answer, list) and len(answer) == count and all(isinstance(each, str) and each for each in answer)


def generated(count: int) -> Callable[[Any], bool]:
    """Return a check that an answer has the form [{"generated_text": ...}, ...] with `count` texts."""
    return lambda answer: is_texts([each["generated_text"] for each in answer], count)


EXCHANGES: dict[str, Exchange] = {
    "gpt2-cpu": Exchange({"inputs": QUESTION, "parameters": {"max_new_tokens": 20}}, generated(1)),
    "flan-t5-xxl": Exchange(
        {"inputs": PROMPTS, "parameters": {"max_seq_len": 50, "temperature": 0.7}, "batch_size": 2, "padding": True},
        generated(2),
    ),
    "flan-t5-xxl-handler": Exchange(
        {"inputs": PROMPTS, "parameters": {"max_seq_len": 50, "temperature": 0.7}, "batch_size": 2, "padding": True},
        lambda answer: is_texts(answer["outputs"], 2),
    ),
    "flan-t5-xxl-tgi": Exchange({"inputs": PROMPTS[0], "parameters": {"max_new_tokens": 20}}, generated(1)),
    "flan-ul2": Exchange({"inputs": PROMPTS, "parameters": {"max_new_tokens": 20}}, generated(2)),
    "flan-ul2-tgi": Exchange({"inputs": PROMPTS[0], "parameters": {"max_new_tokens": 20}}, generated(1)),
    "gpt4all-j": Exchange({"inputs": QUESTION, "parameters": {"max_length": 500}}, generated(1)),
    "gpt4all-j-vllm": Exchange(
        {"inputs": QUESTION, "parameters": {"max_new_tokens": 20}}, lambda answer: bool(answer["generated_text"])
    ),
    "bloom-176b": Exchange(
        {"inputs": PROMPTS * 2, "parameters": {"max_new_tokens": 20}}, lambda answer: is_texts(answer["outputs"], 4)
    ),
    "opt-30b": Exchange({"inputs": PROMPTS * 2, "parameters": {"max_new_tokens": 20}}, generated(4)),
    "gpt-oss-120b": Exchange(
        {"messages": [{"role": "user", "content": QUESTION}], "max_tokens": 20},
        lambda answer: bool(answer["choices"][0]["message"]["content"]),
    ),
    "qwen3-32b": Exchange(
        {"messages": [{"role": "user", "content": QUESTION}], "max_tokens": 20},
        lambda answer: bool(answer["choices"][0]["message"]["content"]),
    ),
}


@pytest.mark.parametrize("name", EXCHANGES)
def test_a_published_deployment_answers_its_own_request(apis: Apis, name: str) -> None:
    status, _, answer = apis(name).call("POST", "/generate", EXCHANGES[name].body)
    assert status == 200, answer
    assert EXCHANGES[name].fits(answer), answer


@pytest.mark.parametrize("name", EXCHANGES)
def test_the_first_question_of_the_local_command_fits_every_engine(apis: Apis, name: str) -> None:
    bodies = {key: dict(QUESTIONS[key].body) for key in ("inputs", "messages")}
    taken = [key for key, body in bodies.items() if apis(name).call("POST", "/generate", body)[0] == 200]
    assert "inputs" in taken or taken == ["messages"]


def test_a_model_with_512_positions_refuses_a_longer_answer(apis: Apis) -> None:
    body = {"inputs": QUESTION, "parameters": {"max_length": 513}}
    status, _, answer = apis("gpt4all-j").call("POST", "/generate", body)
    assert (status, answer["error"]["code"]) == (502, "model_error"), answer
    assert "512" in answer["error"]["message"]


@pytest.mark.parametrize("name", ["flan-t5-xxl", "flan-t5-xxl-handler", "opt-30b", "gpt4all-j", "gpt2-cpu"])
def test_an_engine_without_chats_refuses_a_chat(apis: Apis, name: str) -> None:
    status, _, answer = apis(name).call("POST", "/generate", {"messages": [{"role": "user", "content": QUESTION}]})
    assert (status, answer["error"]["code"]) == (400, "unsupported_body")
    assert "inputs" in answer["error"]["message"]
