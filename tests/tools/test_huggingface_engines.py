"""What Hugging Face's inference toolkit and TGI on Neuron answer, and what they refuse."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from local_cloud.model_server.answer import StartError
from local_cloud.model_server.engines import make_engine
from local_cloud.model_server.language_model import LanguageModel

MODEL = LanguageModel()
GPT2 = {"HF_MODEL_ID": "openai-community/gpt2", "HF_TASK": "text-generation"}
T5 = {"HF_MODEL_ID": "google/flan-t5-base", "HF_TASK": "text2text-generation"}
NEURON = {"HF_MODEL_ID": "aws-neuron/gpt2", "HF_NUM_CORES": "2", "HF_BATCH_SIZE": "4", "HF_SEQUENCE_LENGTH": "64"}


def post(
    settings: Mapping[str, str], body: object, version: str = "4.51.3", name: str = "huggingface"
) -> tuple[int, Any]:
    named = {"SLIPWAY_LOCAL_ENGINE": name, "SLIPWAY_LOCAL_ENGINE_VERSION": version}
    answer = make_engine({**named, **settings}, MODEL).answer(
        body if isinstance(body, bytes) else json.dumps(body).encode()
    )
    return answer.status, json.loads(answer.body)


def test_text_generation_repeats_the_prompt() -> None:
    status, answer = post(GPT2, {"inputs": "Hello, I am", "parameters": {"max_new_tokens": 5}})
    assert (status, len(answer)) == (200, 1)
    assert answer[0]["generated_text"].startswith("Hello, I am ")
    assert len(answer[0]["generated_text"].split()) == 8


def test_text_generation_leaves_the_prompt_out_when_asked() -> None:
    parameters = {"max_new_tokens": 5, "return_full_text": False}
    answer = post(GPT2, {"inputs": "Hello, I am", "parameters": parameters})[1]
    assert len(answer[0]["generated_text"].split()) == 5


def test_a_list_of_prompts_gets_a_list_of_lists_of_text() -> None:
    answer = post(GPT2, {"inputs": ["Hello", "The value of"], "parameters": {"max_new_tokens": 2}})[1]
    assert [len(copies) for copies in answer] == [1, 1]
    assert answer[1][0]["generated_text"].startswith("The value of ")


def test_text2text_answers_without_the_prompt_and_flat() -> None:
    body = {"inputs": ["Hello", "The value of"], "parameters": {"max_new_tokens": 4}}
    assert [len(output["generated_text"].split()) for output in post(T5, body)[1]] == [4, 4]


@pytest.mark.parametrize(("version", "tokens"), [("4.37.0", 50), ("4.51.3", 259)])
def test_the_length_of_an_answer_depends_on_the_version(version: str, tokens: int) -> None:
    answer = post(GPT2, {"inputs": "Hello, I am"}, version)[1]
    assert len(answer[0]["generated_text"].split()) == tokens


def test_other_models_of_an_early_version_make_20_tokens_greedily() -> None:
    settings = {**GPT2, "HF_MODEL_ID": "facebook/opt-125m"}
    answers = [post(settings, {"inputs": "Hello, I am"}, "4.37.0")[1] for _ in range(2)]
    assert answers[0] == answers[1]
    assert len(answers[0][0]["generated_text"].split()) == 20


def test_a_prompt_that_fills_max_length_is_refused_since_4_38() -> None:
    body = {"inputs": "a b c", "parameters": {"max_length": 3}}
    assert [post(GPT2, body, version)[0] for version in ("4.37.0", "4.48.0")] == [200, 400]


@pytest.mark.parametrize(
    ("settings", "version", "message"),
    [
        ({**T5}, "5.5.3", "Unknown task text2text-generation, available tasks are "),
        ({**GPT2, "HF_TASK": "chat"}, "4.51.3", "Unknown task chat, available tasks are "),
        ({"HF_MODEL_ID": "google/flan-t5-base"}, "5.5.3", "Unknown task text2text-generation"),
    ],
)
def test_a_task_that_cannot_be_is_a_400_of_each_invocation(
    settings: dict[str, str], version: str, message: str
) -> None:
    status, answer = post(settings, {"inputs": "Hello"}, version)
    assert (status, answer["code"], answer["type"]) == (400, 400, "InternalServerException")
    assert message in answer["message"]


def test_a_task_that_is_not_given_is_that_of_the_hubs_model() -> None:
    assert post({"HF_MODEL_ID": "openai-community/gpt2"}, {"inputs": "Hello"})[0] == 200


@pytest.mark.parametrize(
    ("config", "status"),
    [('{"architectures": ["GPT2LMHeadModel"]}', 200), ('{"architectures": ["Odd"]}', 400), (None, 400)],
)
def test_a_task_that_is_not_given_follows_from_the_weights(config: str | None, status: int, tmp_path: Path) -> None:
    (tmp_path / "model.safetensors").touch()
    if config:
        (tmp_path / "config.json").write_text(config)
    answered, answer = post({"SLIPWAY_LOCAL_MODEL_DIR": str(tmp_path)}, {"inputs": "Hello"})
    assert answered == status
    if status == 400:
        assert "You need to define one of the following [" in answer["message"]
        assert "as env 'HF_TASK'." in answer["message"]


@pytest.mark.parametrize(
    "body",
    [b"{", [1], {}, {"inputs": 5}, {"inputs": "a", "parameters": {"seed": 1}}, {"inputs": "a", "parameters": [1]}],
)
def test_a_body_that_the_pipeline_does_not_take_is_a_400(body: object) -> None:
    status, answer = post(GPT2, body)
    assert (status, answer["type"]) == (400, "InternalServerException")


def test_the_toolkit_needs_a_model() -> None:
    with pytest.raises(StartError, match="HF_MODEL_ID is not set"):
        post({"HF_TASK": "text-generation"}, {})


def test_neuron_limits_the_tokens_to_what_the_model_was_compiled_for() -> None:
    refusal = post(NEURON, {"inputs": "Hello", "parameters": {"max_new_tokens": 64}}, name="tgi-neuronx")[1]
    assert "must be <= 64" in refusal["error"]
    refusal = post(NEURON, {"inputs": "a " * 33, "parameters": {"max_new_tokens": 1}}, name="tgi-neuronx")[1]
    assert "must have less than 32 tokens. Given: 33" in refusal["error"]
    status, answer = post(NEURON, {"inputs": "Hello", "parameters": {"max_new_tokens": 5}}, name="tgi-neuronx")
    assert (status, len(answer)) == (200, 1)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"MAX_TOTAL_TOKENS": "128"},
            "MAX_TOTAL_TOKENS (128) is higher than the neuron config's HF_SEQUENCE_LENGTH (64)",
        ),
        ({"MAX_BATCH_SIZE": "8"}, "MAX_BATCH_SIZE (8) is higher than the neuron config's HF_BATCH_SIZE (4)"),
        ({"HF_NUM_CORES": "two"}, "'two' (HF_NUM_CORES)"),
        ({"MAX_INPUT_TOKENS": "64"}, "`max_input_length` must be < `max_total_tokens`"),
        ({"HF_MODEL_ID": ""}, "HF_MODEL_ID must be set"),
    ],
)
def test_neuron_refuses_to_start_beyond_the_compiled_model(settings: dict[str, str], message: str) -> None:
    with pytest.raises(StartError) as refusal:
        post({**NEURON, **settings}, {}, name="tgi-neuronx")
    assert message in str(refusal.value)


@pytest.mark.parametrize(("version", "status"), [("0.0.28", 422), ("3.3.6", 200)])
def test_neuron_takes_chats_where_its_tgi_does(version: str, status: int) -> None:
    body = {"messages": [{"role": "user", "content": "What is a class?"}], "max_tokens": 4}
    named = {"SLIPWAY_LOCAL_ENGINE": "tgi-neuronx", "SLIPWAY_LOCAL_ENGINE_VERSION": version}
    assert make_engine({**named, **NEURON}, MODEL).answer(json.dumps(body).encode()).status == status
