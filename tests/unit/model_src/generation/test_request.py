"""Bodies of the generation worker: each form's fields, defaults and limits."""

import json
from typing import Any

import pytest

from model_src.generation.request import GREEDY, Request, RequestError, Sampling, parse

MODEL_S_OWN = Sampling(temperature=0.6, top_k=20, top_p=0.95)
CHAT = [{"role": "user", "content": "Hello"}]


def read(document: Any, defaults: Sampling = MODEL_S_OWN) -> Request:
    return parse(json.dumps(document).encode(), defaults)


def of_inputs(**parameters: Any) -> Request:
    return read({"inputs": "a", "parameters": parameters})


def test_the_published_names_of_fields_are_read() -> None:
    body = {"prompt": "a", "num_samples": 3, "length": 20, "temperature": 0.7, "top_p": 0.9, "top_n": 40}
    assert read(body) == Request(
        form="prompt",
        prompts=("a",),
        is_list=False,
        samples=3,
        length=20,
        sampling=Sampling(0.7, 40, 0.9),
        seed=None,
        stop=(),
        full_text=False,
        details=False,
        template_arguments={},
    )


@pytest.mark.parametrize(
    ("fields", "sampling"),
    [
        ({}, MODEL_S_OWN),
        ({"temperature": 0}, GREEDY),
        ({"temperature": 1e-7}, GREEDY),
        ({"temperature": 2, "top_p": None}, Sampling(2.0, 20, 0.95)),
        ({"top_p": 0}, Sampling(0.6, 20, 1.0)),
        ({"top_p": -1, "top_n": 0}, Sampling(0.6, 0, 1.0)),
        ({"top_p": 1, "top_k": -5}, Sampling(0.6, 0, 1.0)),
        ({"top_p": 0.5, "top_k": 7}, Sampling(0.6, 7, 0.5)),
    ],
)
def test_a_prompt_is_sampled_by_the_model_s_own_defaults(fields: dict[str, Any], sampling: Sampling) -> None:
    assert read({"prompt": "a", **fields}).sampling == sampling


@pytest.mark.parametrize(
    ("parameters", "sampling"),
    [
        ({}, GREEDY),
        ({"seed": 1}, GREEDY),
        ({"do_sample": False, "temperature": 0.7}, GREEDY),
        ({"do_sample": True}, MODEL_S_OWN),
        ({"temperature": 0.7}, Sampling(0.7, 20, 0.95)),
        ({"top_k": 5}, Sampling(0.6, 5, 0.95)),
        ({"do_sample": True, "temperature": 0}, GREEDY),
    ],
)
def test_inputs_are_sampled_if_a_field_asks_for_it(parameters: dict[str, Any], sampling: Sampling) -> None:
    assert of_inputs(**parameters).sampling == sampling


def test_each_form_has_its_own_names() -> None:
    inputs = of_inputs(max_new_tokens=5, num_return_sequences=2, stop_sequences=["x"], return_full_text=True, seed=4)
    assert (inputs.length, inputs.samples, inputs.stop, inputs.full_text, inputs.seed) == (5, 2, ("x",), True, 4)
    chat = read({"messages": CHAT, "max_completion_tokens": 6, "n": 3, "stop": "x", "model": "m", "stream": False})
    assert (chat.length, chat.samples, chat.stop, chat.prompts) == (6, 3, ("x",), (CHAT,))
    thinking = read({"messages": CHAT, "chat_template_kwargs": {"enable_thinking": False}})
    assert thinking.template_arguments == {"enable_thinking": False}


def test_a_list_of_one_text_is_still_a_list() -> None:
    assert (read({"inputs": ["a"]}).is_list, read({"inputs": "a"}).is_list) == (True, False)


def test_parts_of_text_are_joined() -> None:
    parts = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    assert read({"messages": [{"role": "user", "content": parts}]}).prompts[0][0]["content"] == "ab"


@pytest.mark.parametrize(
    ("document", "field"),
    [
        ([], ""),
        ({}, "inputs"),
        ({"inputs": "a", "messages": CHAT}, "messages"),
        ({"inputs": ""}, "inputs"),
        ({"inputs": []}, "inputs"),
        ({"inputs": ["a", 1]}, "inputs"),
        ({"prompt": None}, "prompt"),
        ({"inputs": "a", "parameters": []}, "parameters"),
        ({"inputs": "a", "max_new_tokens": 3}, "max_new_tokens"),
        ({"inputs": "a", "parameters": {"repetition_penalty": 1.1}}, "parameters.repetition_penalty"),
        ({"inputs": "a", "parameters": {"top_k": 1, "top_n": 1}}, "parameters.top_n"),
        ({"inputs": "a", "parameters": {"stop": "a", "stop_sequences": ["a"]}}, "parameters.stop_sequences"),
        ({"prompt": "a", "num_samples": 17}, "num_samples"),
        ({"prompt": "a", "num_samples": 0}, "num_samples"),
        ({"prompt": "a", "num_samples": True}, "num_samples"),
        ({"prompt": "a", "length": 0}, "length"),
        ({"prompt": "a", "length": 1.5}, "length"),
        ({"prompt": "a", "temperature": -0.1}, "temperature"),
        ({"prompt": "a", "temperature": "1"}, "temperature"),
        ({"prompt": "a", "temperature": 10**400}, "temperature"),
        ({"prompt": ["a"] * 65}, "prompt"),
        ({"inputs": ["a"] * 5, "parameters": {"num_samples": 13}}, "inputs"),
        ({"prompt": "a", "top_p": 1.01}, "top_p"),
        ({"prompt": "a", "top_n": 0.5}, "top_n"),
        ({"prompt": "a", "seed": -1}, "seed"),
        ({"prompt": "a", "seed": 2**63}, "seed"),
        ({"prompt": "a", "stop": [""]}, "stop"),
        ({"prompt": "a", "stream": True}, "stream"),
        ({"prompt": "a", "max_new_tokens": 5}, "max_new_tokens"),
        ({"messages": []}, "messages"),
        ({"messages": ["a"]}, "messages[0]"),
        ({"messages": [*CHAT, {"role": "user"}]}, "messages[1].content"),
        ({"messages": CHAT, "chat_template_kwargs": {"a": []}}, "chat_template_kwargs"),
    ],
)
def test_a_bad_field_is_named(document: Any, field: str) -> None:
    with pytest.raises(RequestError) as error:
        read(document)
    assert (error.value.field, str(error.value).startswith(field)) == (field, True)


@pytest.mark.parametrize(
    "body", [b"", b"{", b"\xff", b'{"prompt": "a", "temperature": Infinity}', b'{"prompt": "\\ud83d"}']
)
def test_a_body_that_is_not_json_is_refused(body: bytes) -> None:
    with pytest.raises(RequestError, match="the body is not JSON"):
        parse(body, GREEDY)


def test_a_number_that_overflows_is_refused() -> None:
    with pytest.raises(RequestError, match="temperature: must be a number from 0 to 100, not Infinity"):
        parse(b'{"prompt": "a", "temperature": 1e999}', GREEDY)


def test_absurd_numbers_that_mean_something_are_read() -> None:
    absurd = read({"prompt": "a", "length": 10**400, "top_k": -(10**400), "top_p": -(10**400)})
    assert (absurd.length, absurd.sampling) == (10**400, Sampling(0.6, 0, 1.0))
