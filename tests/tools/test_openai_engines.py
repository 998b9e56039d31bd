"""What the vLLM, SGLang and llama.cpp containers answer to a chat and a completion, and what they do not start with."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from local_cloud.model_server.answer import StartError
from local_cloud.model_server.engines import make_engine
from local_cloud.model_server.language_model import LanguageModel

MODEL = LanguageModel()
CHAT = [{"role": "user", "content": "What is a class?"}]
VLLM = {"SM_VLLM_MODEL": "Qwen/Qwen3-4B", "SM_VLLM_MAX_MODEL_LEN": "200"}
SGLANG = {"SM_SGLANG_MODEL_PATH": "Qwen/Qwen3-4B", "SM_SGLANG_CONTEXT_LENGTH": "200"}
LLAMA_CPP = {"SM_LLAMA_CPP_HF_REPO": "Qwen/Qwen2.5-0.5B-Instruct-GGUF", "SM_LLAMA_CPP_CTX_SIZE": "200"}
SETTINGS = {"vllm": VLLM, "sglang": SGLANG, "llama-cpp": LLAMA_CPP}


def post(name: str, body: object, settings: Mapping[str, str] | None = None) -> tuple[int, Any]:
    engine = make_engine({"SLIPWAY_LOCAL_ENGINE": name, **(settings or SETTINGS[name])}, MODEL)
    answer = engine.answer(body if isinstance(body, bytes) else json.dumps(body).encode())
    return answer.status, json.loads(answer.body)


@pytest.mark.parametrize("name", SETTINGS)
def test_a_chat_gets_a_chat_completion(name: str) -> None:
    status, answer = post(name, {"messages": CHAT, "max_tokens": 6, "chat_template_kwargs": {"enable_thinking": False}})
    assert (status, answer["object"]) == (200, "chat.completion")
    assert len(answer["choices"][0]["message"]["content"].split()) == 6
    assert answer["usage"]["total_tokens"] == 10


@pytest.mark.parametrize("name", SETTINGS)
def test_a_seed_makes_a_chat_repeatable(name: str) -> None:
    texts = [
        post(name, {"messages": CHAT, "max_tokens": 30, "seed": seed})[1]["choices"][0]["message"]["content"]
        for seed in (1, 1, 2)
    ]
    assert texts[0] == texts[1] != texts[2]


def test_only_vllm_takes_completions() -> None:
    body = {"prompt": ["The value of", "a class"], "max_tokens": 3}
    status, answer = post("vllm", body)
    assert (status, len(answer["choices"])) == (200, 2)
    assert [post(name, body)[0] for name in ("sglang", "llama-cpp")] == [400, 400]


@pytest.mark.parametrize(
    ("body", "code", "kind", "message"),
    [
        (b"{", 400, "BadRequestError", "JSON decode error: "),
        ({"inputs": "a"}, 400, "BadRequestError", "Cannot find suitable handler for request. Expected one of: "),
        ({"messages": CHAT, "max_tokens": "5"}, 400, "BadRequestError", "Cannot find suitable handler for request."),
        ({"messages": CHAT, "model": "other"}, 404, "NotFoundError", "The model `other` does not exist."),
        ({"messages": CHAT, "temperature": -1}, 400, "BadRequestError", "temperature must be non-negative, got -1.0."),
        ({"messages": CHAT, "max_tokens": 197}, 400, "BadRequestError", "maximum context length is 200 tokens"),
    ],
)
def test_vllm_refuses_in_its_own_shape(body: object, code: int, kind: str, message: str) -> None:
    status, answer = post("vllm", body)
    assert (status, answer["error"]["code"], answer["error"]["type"]) == (code, code, kind)
    assert message in answer["error"]["message"]


@pytest.mark.parametrize(
    ("settings", "name"),
    [
        ({"SM_VLLM_MODEL": "Qwen/Qwen3-4B"}, "Qwen/Qwen3-4B"),
        ({"SM_VLLM_MODEL": "Qwen/Qwen3-4B", "HF_MODEL_ID": "other"}, "Qwen/Qwen3-4B"),
        ({"HF_MODEL_ID": "openai/gpt-oss-20b"}, "openai/gpt-oss-20b"),
        ({"SM_VLLM_MODEL": "Qwen/Qwen3-4B", "SM_VLLM_SERVED_MODEL_NAME": "mine"}, "mine"),
        ({"SM_VLLM_MODEL": "Qwen/Qwen3-4B", "SM_VLLM_SERVED_MODEL_NAME": '["first", "second"]'}, "first"),
    ],
)
def test_vllm_serves_the_model_under_its_name(settings: dict[str, str], name: str) -> None:
    assert post("vllm", {"messages": CHAT, "model": name, "max_tokens": 2}, settings)[1]["model"] == name


def test_vllm_prefers_the_weights_of_the_deployment_to_the_hub(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    settings = {"HF_MODEL_ID": "Qwen/Qwen3-4B", "SLIPWAY_LOCAL_MODEL_DIR": str(tmp_path)}
    assert post("vllm", {"messages": CHAT, "max_tokens": 2}, settings)[1]["model"] == "/opt/ml/model"


@pytest.mark.parametrize(("given", "tokens"), [("8000", 8000), ("8k", 8000), ("8K", 8192), ("0.5k", 500)])
def test_vllm_reads_lengths_as_people_write_them(given: str, tokens: int) -> None:
    settings = {**VLLM, "SM_VLLM_MAX_MODEL_LEN": given}
    _, answer = post("vllm", {"messages": CHAT, "max_tokens": 9000}, settings)
    assert f"maximum context length is {tokens} tokens" in answer["error"]["message"]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"{", ""),
        ({"inputs": "a"}, "'messages'"),
        ({"messages": CHAT, "max_tokens": "5"}, "'max_tokens'"),
        ({"messages": CHAT, "top_k": 0}, "top_k must be -1 (disable), or at least 1, got 0."),
        (
            {"messages": [{"role": "user", "content": "a " * 200}]},
            "longer than the model's context length (200 tokens)",
        ),
        (
            {"messages": CHAT, "max_tokens": 197},
            "You requested a total of 201 tokens: 4 tokens from the input messages",
        ),
    ],
)
def test_sglang_refuses_in_its_own_shape(body: object, message: str) -> None:
    status, answer = post("sglang", body)
    assert (status, answer["object"], answer["code"]) == (400, "error", 400)
    assert message in answer["message"]


def test_sglang_and_llama_cpp_serve_any_model_name() -> None:
    assert [post(name, {"messages": CHAT, "model": "any"})[0] for name in ("sglang", "llama-cpp")] == [200, 200]


@pytest.mark.parametrize(
    ("body", "code", "kind", "message"),
    [
        (b"{", 500, "server_error", "parse error"),
        ({"prompt": "a"}, 400, "invalid_request_error", "'messages' is required"),
        ({"messages": "Hi"}, 400, "invalid_request_error", "Expected 'messages' to be an array"),
        (
            {"messages": [{"role": "user", "content": "a " * 200}]},
            400,
            "exceed_context_size_error",
            "request (200 tokens) exceeds the available context size (200 tokens), try increasing it",
        ),
    ],
)
def test_llama_cpp_refuses_in_its_own_shape(body: object, code: int, kind: str, message: str) -> None:
    status, answer = post("llama-cpp", body)
    assert (status, answer["error"]["code"], answer["error"]["type"]) == (code, code, kind)
    assert message in answer["error"]["message"]


def test_llama_cpp_takes_odd_values_for_values_that_are_not_given() -> None:
    odd = {"max_tokens": "5", "temperature": -1, "top_p": 7, "top_k": 0, "stop": ["", 5]}
    status, answer = post("llama-cpp", {"messages": CHAT, **odd})
    assert (status, answer["choices"][0]["finish_reason"]) == (200, "stop")


def test_llama_cpp_is_greedy_below_temperature_zero() -> None:
    texts = [post("llama-cpp", {"messages": CHAT, "temperature": -1})[1]["choices"][0]["message"] for _ in range(2)]
    assert texts[0] == texts[1]


def test_llama_cpp_stops_at_its_context() -> None:
    assert post("llama-cpp", {"messages": CHAT, "max_tokens": 1000})[1]["usage"]["completion_tokens"] == 200


def test_llama_cpp_serves_a_file_of_the_deployment(tmp_path: Path) -> None:
    (tmp_path / "q4_0.gguf").touch()
    folder = {"SLIPWAY_LOCAL_MODEL_DIR": str(tmp_path)}
    assert post("llama-cpp", {"messages": CHAT, "max_tokens": 1}, folder)[1]["model"] == "q4_0.gguf"
    named = {**folder, "SM_LLAMA_CPP_MODEL": "/opt/ml/model/q4_0.gguf"}
    assert post("llama-cpp", {"messages": CHAT, "max_tokens": 1}, named)[0] == 200
    with pytest.raises(StartError, match="no such file"):
        post("llama-cpp", {}, {**folder, "SM_LLAMA_CPP_MODEL": "/opt/ml/model/other.gguf"})


@pytest.mark.parametrize(
    ("name", "settings", "message"),
    [
        ("vllm", {"SM_VLLM_MAX_MODEL_LEN": "8192"}, "No model specified. Set SM_VLLM_MODEL, HF_MODEL_ID"),
        ("vllm", {"SM_VLLM_MODEL": "/opt/ml/model"}, "/opt/ml/model does not appear to have a file named config.json"),
        (
            "vllm",
            {**VLLM, "SM_VLLM_MAX_MODEL_LEN": "long"},
            "--max-model-len: invalid human_readable_int value: 'long'",
        ),
        ("vllm", {**VLLM, "SM_VLLM_TENSOR_PARALLEL_SIZE": "max"}, "--tensor-parallel-size: invalid int value: 'max'"),
        ("huggingface-vllm", {"HF_MODEL_ID": "a", "SLIPWAY_LOCAL_ENGINE_VERSION": "0.21.0"}, "No model specified."),
        ("sglang", {"HF_MODEL_ID": "Qwen/Qwen3-4B"}, "/opt/ml/model does not appear to have a file named config.json"),
        ("sglang", {**SGLANG, "SM_SGLANG_CONTEXT_LENGTH": "8k"}, "--context-length: invalid int value: '8k'"),
        ("llama-cpp", {"HF_MODEL_ID": "Qwen/Qwen3-4B"}, "no *.gguf found under /opt/ml/model"),
        ("llama-cpp", {**LLAMA_CPP, "SM_LLAMA_CPP_CTX_SIZE": "-1"}, "--ctx-size: invalid int value: '-1'"),
    ],
)
def test_a_container_says_why_it_does_not_start(name: str, settings: dict[str, str], message: str) -> None:
    with pytest.raises(StartError) as refusal:
        post(name, {}, settings)
    assert message in str(refusal.value)


def test_later_hugging_face_images_read_the_hub_variable() -> None:
    settings = {"HF_MODEL_ID": "Qwen/Qwen3-4B", "SLIPWAY_LOCAL_ENGINE_VERSION": "0.22.1"}
    assert post("huggingface-vllm", {"messages": CHAT, "max_tokens": 1}, settings)[0] == 200


def test_a_false_flag_is_no_flag() -> None:
    assert post("vllm", {"messages": CHAT}, {**VLLM, "SM_VLLM_MAX_MODEL_LEN": "False"})[0] == 200


def test_llama_cpp_reads_the_names_of_hugging_faces_image_too() -> None:
    settings = {name.replace("LLAMA_CPP", "LLAMACPP"): value for name, value in LLAMA_CPP.items()}
    assert post("llama-cpp", {"messages": CHAT, "max_tokens": 6}, settings)[0] == 200
