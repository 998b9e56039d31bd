"""What the TGI and the LMI container answer to each shape of body, in their own words."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from local_cloud.model_server.answer import StartError
from local_cloud.model_server.engines import make_engine
from local_cloud.model_server.language_model import LanguageModel
from local_cloud.model_server.lmi import Lmi
from local_cloud.model_server.tgi import Tgi

MODEL = LanguageModel()
TGI = {"HF_MODEL_ID": "openai-community/gpt2"}
LMI = {"HF_MODEL_ID": "Qwen/Qwen3-4B", "OPTION_MAX_MODEL_LEN": "200"}
ENGINES: dict[str, Tgi | Lmi] = {
    "tgi": Tgi({**TGI, "SLIPWAY_LOCAL_ENGINE_VERSION": "1.4.0"}, MODEL),
    "tgi_3": Tgi({**TGI, "SLIPWAY_LOCAL_ENGINE_VERSION": "3.3.6"}, MODEL),
    "lmi": Lmi(LMI, MODEL),
}
# Engine of the model server, version, environment.
CONTAINERS: list[tuple[str, str, dict[str, str]]] = [
    ("tgi", "3.3.6", TGI),
    ("tgi-neuronx", "0.0.28", TGI),
    ("djl-lmi", "0.36.0", LMI),
    ("djl-lmi", "0.28.0", LMI),
    ("djl-deepspeed", "0.27.0", LMI),
    ("djl-fastertransformer", "0.24.0", {"SERVING_LOAD_MODELS": "t5", "OPTION_MODEL_ID": "t5-base"}),
    ("djl-neuronx", "0.22.1", {"SERVING_LOAD_MODELS": "gptj", "OPTION_MODEL_ID": "EleutherAI/gpt-j-6b"}),
    ("vllm", "0.30.0", {"SM_VLLM_MODEL": "Qwen/Qwen3-4B"}),
    ("sglang", "0.5.20", {"SM_SGLANG_MODEL_PATH": "Qwen/Qwen3-4B"}),
    ("llama-cpp", "1.0.1", {"SM_LLAMA_CPP_HF_REPO": "Qwen/Qwen2.5-0.5B-Instruct-GGUF"}),
    ("huggingface", "4.51.3", TGI),
]


values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-5, 5)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=4,
)
parameter_names = st.sampled_from(
    ["temperature", "top_p", "top_k", "repetition_penalty", "seed", "stop", "details", "n"]
)
fields = st.dictionaries(parameter_names, values, max_size=3)
content = st.just("Hello") | values
odd_bodies = values | st.one_of(
    st.builds(lambda inputs, parameters: {"inputs": inputs, "parameters": parameters}, content, fields | values),
    st.builds(lambda prompt, others: {"prompt": prompt, **others}, content, fields),
    st.builds(lambda text, others: {"messages": [{"role": "user", "content": text}], **others}, content, fields),
)


def post_raw(engine: str, body: bytes) -> tuple[int, bytes]:
    answer = ENGINES[engine].answer(body)
    return answer.status, answer.body


def post(engine: str, body: object) -> tuple[int, Any]:
    status, content = post_raw(engine, json.dumps(body).encode())
    return status, json.loads(content)


def test_tgi_answers_a_prompt_with_an_array_of_one() -> None:
    status, answer = post("tgi", {"inputs": "Hello, I am a language model,", "parameters": {"max_new_tokens": 5}})
    assert status == 200
    assert [len(output["generated_text"].split()) for output in answer] == [5]


def test_tgi_is_greedy_unless_asked_to_sample() -> None:
    body = {"inputs": "The value of", "parameters": {"details": True}}
    (first,), (second,) = post("tgi", body)[1], post("tgi", body)[1]
    assert first == second
    assert first["details"]["seed"] is None


def test_tgi_samples_with_the_seed_it_is_given() -> None:
    texts = [
        post("tgi", {"inputs": "The value of", "parameters": {"do_sample": True, "seed": seed}})[1][0]["generated_text"]
        for seed in (1, 1, 2)
    ]
    assert texts[0] == texts[1] != texts[2]


def test_tgi_reports_details() -> None:
    parameters = {"details": True, "max_new_tokens": 4, "temperature": 0.7, "seed": 3}
    details = post("tgi", {"inputs": "The value of", "parameters": parameters})[1][0]["details"]
    assert (details["finish_reason"], details["generated_tokens"], details["seed"]) == ("length", 4, 3)


def test_tgi_returns_the_full_text_when_asked() -> None:
    answer = post("tgi", {"inputs": "The value of", "parameters": {"return_full_text": True}})[1]
    assert answer[0]["generated_text"].startswith("The value of ")


def test_tgi_leaves_the_stop_sequence_in_its_text() -> None:
    answer = post("tgi", {"inputs": "The value of", "parameters": {"stop": ["e"], "details": True}})[1]
    assert answer[0]["generated_text"].endswith("e")
    assert answer[0]["details"]["finish_reason"] == "stop_sequence"


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"temperature": 0}, "`temperature` must be strictly positive"),
        ({"temperature": 0.0, "do_sample": False}, "`temperature` must be strictly positive"),
        ({"top_p": 1.0}, "`top_p` must be > 0.0 and < 1.0"),
        ({"top_p": 0}, "`top_p` must be > 0.0 and < 1.0"),
        ({"top_k": 0}, "`top_k` must be strictly positive"),
        ({"repetition_penalty": 0}, "`repetition_penalty` must be strictly positive"),
        ({"max_new_tokens": 0}, "`max_new_tokens` must be strictly positive"),
        ({"stop": list("abcde")}, "`stop` supports up to 4 stop sequences. Given: 5"),
        (
            {"max_new_tokens": 2048},
            "`inputs` tokens + `max_new_tokens` must be <= 2048. Given: 1 `inputs` tokens and 2048 `max_new_tokens`",
        ),
    ],
)
def test_tgi_refuses_parameters_in_its_own_words(parameters: dict[str, Any], message: str) -> None:
    refusal = {"error": f"Input validation error: {message}", "error_type": "validation"}
    assert post("tgi", {"inputs": "Hello", "parameters": parameters}) == (422, refusal)


def test_tgi_refuses_a_prompt_longer_than_its_limit() -> None:
    status, answer = post("tgi", {"inputs": "word " * 1025, "parameters": {"max_new_tokens": 1}})
    assert status == 422
    assert "`inputs` must have less than 1024 tokens. Given: 1025" in answer["error"]


@pytest.mark.parametrize(
    ("body", "status", "text"),
    [
        (b"{", 400, b"Failed to parse the request body as JSON: "),
        (b'{"inputs": NaN}', 400, b"Failed to parse the request body as JSON: "),
        (b"\xff", 400, b"Failed to parse the request body as JSON: "),
        (b"{}", 422, b"missing field `inputs`"),
        (b"[1]", 422, b"missing field `inputs`"),
        (b'{"inputs": ["a", "b"]}', 422, b"inputs: invalid type: sequence, expected a string"),
        (b'{"messages": [{"role": "user", "content": "Hi"}]}', 422, b"missing field `inputs`"),
        (
            b'{"inputs": "a", "parameters": {"max_new_tokens": "50"}}',
            422,
            b'max_new_tokens: invalid type: string "50", expected u32',
        ),
        (
            b'{"inputs": "a", "parameters": {"do_sample": 1}}',
            422,
            b"do_sample: invalid type: integer `1`, expected a boolean",
        ),
    ],
)
def test_tgi_refuses_bodies_it_cannot_read_as_plain_text(body: bytes, status: int, text: bytes) -> None:
    answered, content = post_raw("tgi", body)
    assert answered == status
    assert text in content


def test_tgi_takes_chats_from_2_4_on() -> None:
    status, answer = post("tgi_3", {"model": "tgi", "messages": [{"role": "user", "content": "What is a class?"}]})
    assert (status, answer["object"]) == (200, "chat.completion")


def test_tgi_names_no_field_of_a_body_that_fits_no_shape() -> None:
    status, content = post_raw("tgi_3", b'{"inputs": ["a"]}')
    assert (status, b"did not match any variant of untagged enum" in content) == (422, True)


def test_lmi_answers_a_prompt_with_an_object_of_30_tokens() -> None:
    status, answer = post("lmi", {"inputs": "What is a class?"})
    assert (status, list(answer)) == (200, ["generated_text"])
    assert len(answer["generated_text"].split()) == 30


def test_lmi_answers_a_list_of_prompts_with_a_list() -> None:
    status, answer = post("lmi", {"inputs": ["The value of", "a class definition"], "parameters": {"do_sample": False}})
    assert status == 200
    assert len({output["generated_text"] for output in answer}) == 2


def test_lmi_reports_the_stop_sequence_as_the_reason() -> None:
    parameters = {"details": True, "stop": ["e"], "seed": 5}
    answer = post("lmi", {"inputs": "The value of", "parameters": parameters})[1]
    assert "e" not in answer["generated_text"]
    assert (answer["details"]["finish_reason"], answer["details"]["seed"]) == ("e", 5)


def test_lmi_answers_a_chat_with_a_chat_completion() -> None:
    messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "What is a class?"}]
    status, answer = post("lmi", {"messages": messages, "max_tokens": 8})
    assert (status, answer["object"]) == (200, "chat.completion")
    assert answer["choices"][0]["message"]["role"] == "assistant"
    assert answer["choices"][0]["finish_reason"] == "length"
    assert answer["usage"] == {"prompt_tokens": 6, "completion_tokens": 8, "total_tokens": 14}


def test_lmi_answers_each_prompt_of_a_completion() -> None:
    status, answer = post(
        "lmi", {"prompt": ["The value of", "a class"], "max_tokens": 3, "n": 2, "echo": True, "seed": 1}
    )
    texts = [choice["text"] for choice in answer["choices"]]
    assert (status, answer["object"]) == (200, "text_completion")
    assert [text.startswith(start) for text, start in zip(texts, ["The", "The", "a ", "a "], strict=True)] == [True] * 4


@pytest.mark.parametrize(
    ("body", "code", "message"),
    [
        ({"other": 1}, 424, "must contain prompt, inputs, or messages"),
        ([], 424, "must contain prompt, inputs, or messages"),
        ({"inputs": {"a": 1}}, 424, "Input parsing failed"),
        ({"inputs": "a", "parameters": {"max_new_tokens": "5"}}, 424, "Input parsing failed"),
        ({"inputs": "a", "parameters": {"top_p": 0}}, 424, "top_p must be in (0, 1], got 0.0."),
        ({"prompt": "a", "top_p": 0}, 400, "top_p must be in (0, 1], got 0.0."),
        ({"prompt": "a", "temperature": -1}, 400, "temperature must be non-negative, got -1.0."),
        ({"prompt": "a", "top_k": -2}, 400, "top_k must be 0 (disable), or at least 1, got -2."),
        ({"prompt": "a", "max_tokens": 0}, 400, "max_tokens must be at least 1, got 0."),
        ({"prompt": "a", "max_tokens": 200}, 400, "maximum context length is 200 tokens"),
        ({"prompt": "a", "stream": True}, 400, "stream"),
        ({"prompt": "a", "stop": [""]}, 400, "stop cannot contain an empty string."),
        ({"prompt": "a", "model": "Qwen/Qwen3-4B"}, 404, "The model `Qwen/Qwen3-4B` does not exist."),
        ({"messages": []}, 400, "messages"),
        ({"messages": [{"role": "user", "content": 5}]}, 400, "content"),
    ],
)
def test_lmi_refuses_in_its_own_shape(body: object, code: int, message: str) -> None:
    status, answer = post("lmi", body)
    assert (status, answer["code"]) == (code, code)
    assert message in answer["error"]


def test_lmi_calls_broken_json_a_parsing_failure() -> None:
    status, content = post_raw("lmi", b"{")
    assert status == 424
    assert json.loads(content)["error"].startswith("Input parsing failed: ")


def test_lmi_takes_temperature_zero_and_top_k_minus_one() -> None:
    assert post("lmi", {"inputs": "a", "parameters": {"temperature": 0, "top_k": -1}})[0] == 200


@pytest.mark.parametrize("engine", [Tgi, Lmi])
def test_weights_of_the_deployment_replace_the_hub(engine: type[Tgi | Lmi], tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    engine({"HF_MODEL_ID": "/opt/ml/model", "SLIPWAY_LOCAL_MODEL_DIR": str(tmp_path)}, MODEL)


@pytest.mark.parametrize(("name", "version", "environment"), CONTAINERS)
def test_every_body_is_answered_with_a_status_of_the_container(
    name: str, version: str, environment: dict[str, str]
) -> None:
    named = {"SLIPWAY_LOCAL_ENGINE": name, "SLIPWAY_LOCAL_ENGINE_VERSION": version}
    engine = make_engine({**named, **environment}, MODEL)

    @settings(max_examples=40, deadline=None)
    @given(odd_bodies)
    def answers(body: object) -> None:
        assert engine.answer(json.dumps(body).encode()).status in {200, 400, 404, 422, 424}

    answers()


def test_an_engine_that_nobody_knows_is_refused() -> None:
    with pytest.raises(StartError, match="SLIPWAY_LOCAL_ENGINE: 'other' is not one of lmi, tgi"):
        make_engine({"SLIPWAY_LOCAL_ENGINE": "other"}, MODEL)
