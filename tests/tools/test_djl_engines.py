"""What the handlers of DJL Serving answer, version by version, and what their containers do not start with."""

import json
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from local_cloud.model_server.answer import Answer, StartError
from local_cloud.model_server.dynamic_batching import Batching, BatchQueue
from local_cloud.model_server.engines import make_engine
from local_cloud.model_server.language_model import LanguageModel
from local_cloud.model_server.python_handler import UNEQUAL_PARAMETERS, PythonHandler
from local_cloud.model_server.server import Engine

MODEL = LanguageModel()
PROMPTS = ["Hello, I am", "The value of", "What is a class?", "A module is"]
OPT = {"SERVING_ENGINE": "DeepSpeed", "OPTION_MODEL_ID": "facebook/opt-30b", "OPTION_TENSOR_PARALLEL_DEGREE": "4"}
T5 = {"SERVING_ENGINE": "FasterTransformer", "OPTION_MODEL_ID": "google/flan-t5-xxl"}
GPT4ALL = {"OPTION_MODEL_ID": "nomic-ai/gpt4all-j", "OPTION_N_POSITIONS": "512", "OPTION_TENSOR_PARALLEL_DEGREE": "2"}
LLAMA = {"HF_MODEL_ID": "meta-llama/Llama-2-7b", "OPTION_ROLLING_BATCH": "vllm", "OPTION_MAX_MODEL_LEN": "200"}


def start(image: str, version: str, settings: Mapping[str, str], **more: str) -> Engine:
    """The engine of an image; below 0.27 the settings only count beside a model that the server is told to load."""
    named = {"SLIPWAY_LOCAL_ENGINE": f"djl-{image}", "SLIPWAY_LOCAL_ENGINE_VERSION": version}
    return make_engine({**named, "SERVING_LOAD_MODELS": "test=/opt/ml/model", **settings, **more}, MODEL)


def ask(engine: Engine, inputs: object, *, raw: bytes | None = None, **parameters: Any) -> tuple[int, Any]:
    body = {"inputs": inputs, "parameters": parameters, "batch_size": 4, "padding": True}
    answer = engine.answer(json.dumps(body).encode() if raw is None else raw)
    return answer.status, json.loads(answer.body)


def texts(answer: list[dict[str, str]]) -> list[str]:
    return [output["generated_text"] for output in answer]


def test_deepspeed_answers_a_batch_with_each_prompt_and_its_continuation() -> None:
    status, answer = ask(start("deepspeed", "0.20.0", OPT, OPTION_ENTRYPOINT="djl_python.deepspeed"), PROMPTS)
    assert status == 200
    assert all(text.startswith(prompt) for text, prompt in zip(texts(answer), PROMPTS, strict=True))


def test_deepspeed_counts_max_new_tokens_without_the_prompt_and_max_length_with_it() -> None:
    engine = start("deepspeed", "0.27.0", OPT)
    assert len(texts(ask(engine, "Hello, I am", max_new_tokens=10)[1])[0].split()) == 13
    assert len(texts(ask(engine, "Hello, I am", max_length=10)[1])[0].split()) == 10
    assert len(texts(ask(engine, "Hello, I am")[1])[0].split()) == 20


def test_behind_an_encoder_max_length_does_not_count_the_prompt() -> None:
    engine = start("deepspeed", "0.27.0", OPT, OPTION_TASK="text2text-generation")
    assert len(texts(ask(engine, "Hello, I am", max_length=10)[1])[0].split()) == 10


def test_later_versions_refuse_a_prompt_that_fills_max_length() -> None:
    settings = {"OPTION_MODEL_ID": "facebook/opt-30b", "OPTION_ROLLING_BATCH": "disable"}
    engine = start("lmi", "0.28.0", settings)
    assert (
        "Input length of input_ids is 3, but `max_length` is set to 3" in ask(engine, "a b c", max_length=3)[1]["error"]
    )
    assert len(texts(ask(start("deepspeed", "0.27.0", OPT), "a b c", max_length=3)[1])[0].split()) == 4


def test_generate_is_greedy_unless_asked_to_sample() -> None:
    engine = start("deepspeed", "0.27.0", OPT)
    assert ask(engine, PROMPTS, temperature=0.5) == ask(engine, PROMPTS)
    sampled = [ask(engine, PROMPTS, do_sample=True, max_new_tokens=60)[1] for _ in range(2)]
    assert sampled[0] != sampled[1]


def test_generate_returns_as_many_sequences_as_asked_for() -> None:
    engine = start("deepspeed", "0.27.0", OPT)
    answer = ask(engine, PROMPTS[:2], do_sample=True, num_return_sequences=3)[1]
    assert [text.startswith(PROMPTS[index // 3]) for index, text in enumerate(texts(answer))] == [True] * 6


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"seed": 1}, "The following `model_kwargs` are not used by the model: ['seed']"),
        ({"do_sample": True, "temperature": 0}, "`temperature` (=0.0) has to be a strictly positive float"),
        ({"do_sample": True, "top_p": 2}, "`top_p` has to be a float > 0 and < 1, but is 2.0"),
        ({"do_sample": True, "top_k": -1}, "`top_k` has to be a strictly positive integer, but is -1"),
        ({"max_new_tokens": 0}, "`max_new_tokens` must be greater than 0, but is 0."),
        ({"num_return_sequences": 2}, "Greedy methods without beam search"),
        ({"max_new_tokens": "5"}, "max_new_tokens"),
    ],
)
def test_deepspeed_refuses_what_generate_refuses(parameters: dict[str, Any], message: str) -> None:
    status, answer = ask(start("deepspeed", "0.27.0", OPT), "Hello", **parameters)
    assert (status, answer["code"], answer["message"]) == (424, 424, "prediction failure")
    assert message in answer["error"]


def test_deepspeed_refuses_a_prompt_longer_than_its_buffers() -> None:
    status, answer = ask(start("deepspeed", "0.27.0", OPT, OPTION_MAX_TOKENS="4"), "a b c d e")
    assert (status, "Input with size 5 exceeds maximum length of 4" in answer["error"]) == (424, True)


@pytest.mark.parametrize(
    "raw", [b"{", b"[1]", b"{}", b'{"inputs": 5}', b'{"inputs": []}', b'{"inputs": "a", "parameters": [1]}']
)
def test_a_handler_refuses_a_body_that_it_cannot_use(raw: bytes) -> None:
    assert ask(start("deepspeed", "0.27.0", OPT), "", raw=raw)[0] == 424


def test_fastertransformer_answers_t5_without_the_prompt_up_to_200_tokens() -> None:
    status, answer = ask(start("fastertransformer", "0.24.0", T5), PROMPTS)
    assert (status, len(answer)) == (200, 4)
    assert [len(text.split()) for text in texts(answer)] == [200] * 4
    assert not any(text.startswith(prompt) for text, prompt in zip(texts(answer), PROMPTS, strict=True))


@pytest.mark.parametrize("name", ["max_seq_len", "max_length", "max_new_tokens"])
def test_fastertransformer_takes_its_own_names_and_hugging_faces(name: str) -> None:
    limit: dict[str, Any] = {name: 7}
    answer = ask(start("fastertransformer", "0.22.1", T5), "translate to German: My name is Arthur", **limit)[1]
    assert len(texts(answer)[0].split()) == 7


def test_fastertransformer_takes_the_likeliest_token_unless_top_k_says_otherwise() -> None:
    engine = start("fastertransformer", "0.24.0", T5)
    assert ask(engine, "Hello", temperature=0.7) == ask(engine, "Hello")
    drawn = [texts(ask(engine, "Hello", top_k=50, random_seed=seed)[1]) for seed in (1, 1, 2)]
    assert drawn[0] == drawn[1] != drawn[2]


def test_fastertransformer_repeats_the_prompt_of_other_models() -> None:
    settings = {**T5, "OPTION_MODEL_ID": "EleutherAI/gpt-neox-20b"}
    answer = ask(start("fastertransformer", "0.24.0", settings), "Hello, I am")[1]
    assert texts(answer)[0].startswith("Hello, I am ")
    assert len(texts(answer)[0].split()) == 53


def test_neuronx_counts_the_prompt_in_max_length_and_repeats_it() -> None:
    engine = start("neuronx", "0.22.1", GPT4ALL)
    answer = ask(engine, "Hello, I am", max_length=30)[1]
    assert texts(answer)[0].startswith("Hello, I am ")
    assert [len(text.split()) for text in texts(answer) + texts(ask(engine, "Hello, I am")[1])] == [30, 50]


@pytest.mark.parametrize("parameters", [{"max_length": 513}, {"max_new_tokens": 511}])
def test_neuronx_refuses_more_tokens_than_it_was_compiled_for(parameters: dict[str, Any]) -> None:
    engine = start("neuronx", "0.22.1", GPT4ALL)
    assert "n_positions=512" in ask(engine, "Hello there", **parameters)[1]["error"]
    fitting: dict[str, Any] = {name: value - 1 for name, value in parameters.items()}
    assert ask(engine, "Hello there", **fitting)[0] == 200


@pytest.mark.parametrize(
    ("version", "prompts", "message"),
    [
        ("0.23.0", 1, "4 batch size not equal to 1 prompt size"),
        ("0.23.0", 4, None),
        ("0.23.0", 5, "4 batch size not equal to 5 prompt size"),
        ("0.24.0", 1, None),
        ("0.24.0", 4, None),
        ("0.24.0", 5, "Batch size 5 beyond the max_batch size the model can support 4"),
    ],
)
def test_neuronx_is_compiled_for_a_batch_size(version: str, prompts: int, message: str | None) -> None:
    engine = start("neuronx", version, GPT4ALL, OPTION_BATCH_SIZE="4")
    status, answer = ask(engine, (PROMPTS * 2)[:prompts], max_new_tokens=3)
    assert (status, answer["error"] if status == 424 else None) == (424 if message else 200, message)


def test_requests_that_arrive_together_run_as_one_batch() -> None:
    engine = start("neuronx", "0.23.0", GPT4ALL, SERVING_BATCH_SIZE="2")
    assert isinstance(engine, PythonHandler)
    bodies = [json.dumps({"inputs": prompt, "parameters": {"max_new_tokens": 3}}).encode() for prompt in PROMPTS[:2]]
    answers = [json.loads(answer.body) for answer in engine.answer_together(bodies)]
    assert [texts(answer)[0].startswith(prompt) for answer, prompt in zip(answers, PROMPTS, strict=False)] == [
        True,
        True,
    ]


def test_a_batch_takes_equal_parameters_only() -> None:
    engine = start("fastertransformer", "0.24.0", T5, SERVING_BATCH_SIZE="4")
    assert isinstance(engine, PythonHandler)
    bodies = [b'{"inputs": "a"}', b'{"inputs": "b", "parameters": {"top_k": 2}}', b"{", b'{"inputs": "c"}']
    answers = engine.answer_together(bodies)
    assert [answer.status for answer in answers] == [200, 424, 424, 200]
    assert json.loads(answers[1].body)["error"] == UNEQUAL_PARAMETERS


def test_accelerate_answers_like_generate_and_knows_no_chats() -> None:
    settings = {"OPTION_MODEL_ID": "facebook/opt-30b", "OPTION_ROLLING_BATCH": "disable"}
    engine = start("lmi", "0.28.0", settings)
    assert texts(ask(engine, PROMPTS[:2])[1])[1].startswith("The value of ")
    assert ask(engine, "", raw=b'{"messages": [{"role": "user", "content": "Hi"}]}')[0] == 424


def test_accelerate_answers_text2text_without_the_prompt() -> None:
    engine = start(
        "lmi",
        "0.36.0",
        {"OPTION_MODEL_ID": "google/flan-ul2", "OPTION_ROLLING_BATCH": "disable"},
        OPTION_ENTRYPOINT="djl_python.huggingface",
    )
    answer = ask(engine, ["Hello, I am", "The value of"], max_new_tokens=4)[1]
    assert [len(text.split()) for text in texts(answer)] == [4, 4]


def test_a_rolling_batch_answers_one_prompt_with_an_object_of_30_tokens() -> None:
    status, answer = ask(start("lmi", "0.28.0", LLAMA), "What is a class?")
    assert (status, list(answer)) == (200, ["generated_text"])
    assert len(answer["generated_text"].split()) == 30


def test_a_rolling_batch_takes_no_list_of_prompts() -> None:
    status, answer = ask(start("lmi", "0.28.0", LLAMA), PROMPTS)
    assert (status, answer["code"]) == (424, 424)
    assert answer["error"].startswith("Input Parsing failed. Ensure that the request payload is valid. ")


def test_a_rolling_batch_answers_tgis_array_when_it_is_to_be_compatible() -> None:
    engine = start("lmi", "0.28.0", LLAMA, OPTION_TGI_COMPAT="true")
    (output,) = ask(engine, "Hello", max_new_tokens=4)[1]
    assert output["details"]["finish_reason"] == "length"


def test_a_rolling_batch_tells_of_a_refusal_inside_a_200() -> None:
    engine = start("lmi", "0.28.0", LLAMA)
    error = {"generated_text": "", "details": {"finish_reason": "error"}}
    assert ask(engine, "Hello", do_sample=True, top_p=0) == (200, error)
    assert ask(engine, "Hello", max_new_tokens=200) == (200, error)


@pytest.mark.parametrize(("version", "samples"), [("0.28.0", False), ("0.32.0", True)])
def test_a_temperature_asks_for_sampling_in_later_versions_only(version: str, samples: bool) -> None:
    engine = start("lmi", version, LLAMA)
    drawn = [ask(engine, "The value of", temperature=1.5, seed=seed)[1] for seed in range(3)]
    assert (drawn[0] != drawn[1] or drawn[0] != drawn[2]) is samples


@pytest.mark.parametrize(("version", "status"), [("0.27.0", 424), ("0.28.0", 200)])
def test_a_rolling_batch_answers_chats_from_0_28_on(version: str, status: int) -> None:
    settings = {**LLAMA, "OPTION_ENTRYPOINT": "djl_python.huggingface"}
    engine = start("deepspeed" if version == "0.27.0" else "lmi", version, settings)
    body = b'{"model": "any", "messages": [{"role": "user", "content": "What is a class?"}], "max_tokens": 4}'
    answered, answer = ask(engine, "", raw=body)
    assert (answered, answer.get("object")) == (status, "chat.completion" if status == 200 else None)


@pytest.mark.parametrize(("version", "tokens"), [("0.26.0", 128), ("0.33.0", 30)])
def test_tensorrt_llm_answers_one_prompt_with_its_versions_number_of_tokens(version: str, tokens: int) -> None:
    settings = {"SERVING_ENGINE": "MPI", "OPTION_MODEL_ID": "tiiuae/falcon-7b", "OPTION_ROLLING_BATCH": "trtllm"}
    answer = ask(start("tensorrtllm", version, settings), "Hello")[1]
    assert len(answer["generated_text"].split()) == tokens


@pytest.mark.parametrize(
    ("version", "settings", "shape"),
    [
        ("0.36.0", {}, dict),
        ("0.36.0", {"OPTION_ROLLING_BATCH": "disable", "OPTION_ENTRYPOINT": "djl_python.huggingface"}, list),
        ("0.34.0", {"OPTION_ROLLING_BATCH": "disable"}, list),
        ("0.34.0", {"OPTION_ROLLING_BATCH": "disable", "OPTION_ASYNC_MODE": "true"}, dict),
        ("0.28.0", {}, dict),
        ("0.28.0", {"SERVING_BATCH_SIZE": "4"}, list),
    ],
)
def test_lmi_generates_by_itself_when_neither_asynchronous_nor_rolling(
    version: str, settings: dict[str, str], shape: type
) -> None:
    answer = ask(start("lmi", version, {"HF_MODEL_ID": "meta-llama/Llama-2-7b"}, **settings), "Hello")[1]
    assert isinstance(answer, shape)


def test_the_asynchronous_service_takes_completions() -> None:
    engine = start("lmi", "0.36.0", {"HF_MODEL_ID": "Qwen/Qwen3-4B"})
    assert ask(engine, "", raw=b'{"prompt": "The value of"}')[1]["object"] == "text_completion"


@pytest.mark.parametrize(
    ("image", "version", "settings", "message"),
    [
        ("deepspeed", "0.20.0", OPT, "FileNotFoundException: .py file not found in: /opt/ml/model"),
        ("deepspeed", "0.27.0", {**OPT, "OPTION_DTYPE": "int4"}, "ValueError: Invalid data type: int4"),
        (
            "deepspeed",
            "0.27.0",
            {**OPT, "OPTION_TASK": "translation"},
            "translation is not currently supported by DeepSpeed",
        ),
        ("deepspeed", "0.27.0", {**OPT, "OPTION_TENSOR_PARALLEL_DEGREE": "four"}, 'For input string: "four"'),
        (
            "deepspeed",
            "0.27.0",
            {**OPT, "OPTION_ENTRYPOINT": "djl_python.fastertransformer"},
            "No module named 'djl_python.fastertransformer'",
        ),
        (
            "deepspeed",
            "0.24.0",
            {**OPT, "OPTION_ENTRYPOINT": "djl_python.fastertransformer"},
            "No module named 'fastertransformer'",
        ),
        ("deepspeed", "0.27.0", {"SERVING_ENGINE": "DeepSpeed"}, "ModelNotFoundException"),
        ("lmi", "0.28.0", {"SERVING_ENGINE": "DeepSpeed"}, "Deep learning engine not found: DeepSpeed"),
        (
            "lmi",
            "0.28.0",
            {**LLAMA, "OPTION_ENTRYPOINT": "djl_python.deepspeed"},
            "No module named 'djl_python.deepspeed'",
        ),
        (
            "lmi",
            "0.28.0",
            {"OPTION_S3URL": "s3://bucket/opt/"},
            "/opt/ml/model does not appear to have a file named config.json",
        ),
        ("lmi", "0.33.0", {**LLAMA, "OPTION_ROLLING_BATCH": "lmi-dist"}, "Invalid rolling batch type: lmi-dist"),
        ("lmi", "0.36.0", {}, "ModelNotFoundException"),
        (
            "fastertransformer",
            "0.21.0",
            {**T5, "OPTION_ENTRYPOINT": "djl_python.fastertransformer"},
            "No module named 'djl_python.fastertransformer'",
        ),
        ("fastertransformer", "0.21.0", T5, ".py file not found in: /opt/ml/model"),
        ("fastertransformer", "0.24.0", {**T5, "OPTION_DTYPE": "int8"}, "int8"),
        (
            "fastertransformer",
            "0.21.0",
            {**T5, "OPTION_S3URL": "s3://bucket/t5/"},
            "model_id and s3url could not both set!",
        ),
        (
            "neuronx",
            "0.24.0",
            {**GPT4ALL, "OPTION_ENTRYPOINT": "djl_python.transformers-neuronx"},
            "No module named 'djl_python.transformers-neuronx'",
        ),
        (
            "neuronx",
            "0.23.0",
            {**GPT4ALL, "OPTION_ENTRYPOINT": "djl_python.transformers_neuronx"},
            "No module named 'djl_python.transformers_neuronx'",
        ),
        ("neuronx", "0.22.1", {**GPT4ALL, "OPTION_ENTRYPOINT": "djl_python.transformers - neuronx"}, "No module named"),
        ("neuronx", "0.22.1", {**GPT4ALL, "OPTION_DTYPE": "bf16"}, "ValueError: bf16 data type not supported!"),
        ("neuronx", "0.22.1", {**GPT4ALL, "OPTION_N_POSITIONS": "0"}, "OPTION_N_POSITIONS"),
    ],
)
def test_a_container_says_why_it_does_not_start(
    image: str, version: str, settings: dict[str, str], message: str
) -> None:
    with pytest.raises(StartError) as refusal:
        start(image, version, settings)
    assert message in str(refusal.value)


@pytest.mark.parametrize("version", ["0.21.0", "0.27.0"])
def test_s3url_names_the_model_up_to_0_27(version: str) -> None:
    settings = {**OPT, "OPTION_S3URL": "s3://bucket/opt/", "OPTION_ENTRYPOINT": "djl_python.deepspeed"}
    del settings["OPTION_MODEL_ID"]
    assert ask(start("deepspeed", version, settings), "Hello")[0] == 200


def in_folder(folder: Path, image: str, version: str, environment: Mapping[str, str]) -> Engine:
    named = {"SLIPWAY_LOCAL_ENGINE": f"djl-{image}", "SLIPWAY_LOCAL_ENGINE_VERSION": version}
    return make_engine({**named, "SLIPWAY_LOCAL_MODEL_DIR": str(folder), **environment}, MODEL)


def test_the_files_settings_win_over_the_environments(tmp_path: Path) -> None:
    lines = ["engine=Python", "option.model_id=EleutherAI/gpt-j-6b", "option.n_positions=64"]
    (tmp_path / "serving.properties").write_text("\n".join(lines))
    engine = in_folder(tmp_path, "neuronx", "0.22.1", {"OPTION_N_POSITIONS": "512"})
    assert "n_positions=64" in ask(engine, "Hello", max_length=65)[1]["error"]


def test_before_0_27_a_container_needs_model_data() -> None:
    named = {"SLIPWAY_LOCAL_ENGINE": "djl-deepspeed", "SLIPWAY_LOCAL_ENGINE_VERSION": "0.26.0"}
    with pytest.raises(StartError, match=r"takes its settings from a serving\.properties in the model data"):
        make_engine({**named, **OPT}, MODEL)


def test_the_architecture_of_the_weights_decides_over_the_models_name(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"architectures": ["T5ForConditionalGeneration"]}')
    settings = {"HF_MODEL_ID": "/opt/ml/model", "OPTION_ROLLING_BATCH": "disable"}
    engine = in_folder(tmp_path, "lmi", "0.28.0", settings)
    assert not texts(ask(engine, "Hello, I am")[1])[0].startswith("Hello")


def batches_of_two(delay_in_seconds: float) -> tuple[BatchQueue, list[int]]:
    """A queue, and how many each of its batches had."""
    sizes: list[int] = []

    def answer_together(raws: list[bytes]) -> list[Answer]:
        sizes.append(len(raws))
        return [Answer(200, raw) for raw in raws]

    return BatchQueue(Batching(2, delay_in_seconds), answer_together, seconds_per_token=0), sizes


def test_a_batch_is_given_time_to_fill() -> None:
    queue, sizes = batches_of_two(delay_in_seconds=600)
    first, second = (threading.Thread(target=queue.answer, args=(b"x",), daemon=True) for _ in range(2))
    first.start()
    first.join(timeout=0.2)
    assert first.is_alive()
    second.start()
    for caller in (first, second):
        caller.join(timeout=60)
    assert sizes == [2]


def test_a_batch_waits_no_longer_than_its_delay() -> None:
    queue, sizes = batches_of_two(delay_in_seconds=0.1)
    queue.answer(b"x")
    assert sizes == [1]
