"""Settings as the environment variables of each engine; explicit variables win."""

import pytest

from llm_hosting.resolution.variables import VARIABLE_ALIASES, is_read
from support.deployments.any_deployments import VERSIONS
from support.deployments.good_one import ASYNC, OWN_REGISTRY, Changes, resolved
from support.deployments.on_four_gpus import FOUR_GPUS, properties, told

SIX_CHIPS, NO_GPU = "ml.inf2.24xlarge", "ml.m7i.2xlarge"


TYPICAL: dict[str, tuple[Changes, str, Changes]] = {
    "lmi-vllm": (
        {"max_model_len": 8192, "max_batch_size": 16},
        FOUR_GPUS,
        {
            "HF_MODEL_ID": "Qwen/Qwen3-4B",
            "TENSOR_PARALLEL_DEGREE": "4",
            "OPTION_MAX_MODEL_LEN": "8192",
            "OPTION_MAX_ROLLING_BATCH_SIZE": "16",
            "OPTION_SERVED_MODEL_NAME": "Qwen/Qwen3-4B",
            "SERVING_FAIL_FAST": "true",
        },
    ),
    "vllm": (
        {"max_model_len": 8192, "max_batch_size": 16},
        FOUR_GPUS,
        {
            "SM_VLLM_MODEL": "Qwen/Qwen3-4B",
            "SM_VLLM_TENSOR_PARALLEL_SIZE": "4",
            "SM_VLLM_MAX_MODEL_LEN": "8192",
            "SM_VLLM_MAX_NUM_SEQS": "16",
            "SM_VLLM_SERVED_MODEL_NAME": "Qwen/Qwen3-4B",
        },
    ),
    "sglang": (
        {"max_model_len": 8192, "max_batch_size": 16},
        FOUR_GPUS,
        {
            "SM_SGLANG_MODEL_PATH": "Qwen/Qwen3-4B",
            "SM_SGLANG_TP": "4",
            "SM_SGLANG_CONTEXT_LENGTH": "8192",
            "SM_SGLANG_MAX_RUNNING_REQUESTS": "16",
            "SM_SGLANG_SERVED_MODEL_NAME": "Qwen/Qwen3-4B",
        },
    ),
    "tgi": (
        {"max_model_len": 8192},
        FOUR_GPUS,
        {"HF_MODEL_ID": "Qwen/Qwen3-4B", "SM_NUM_GPUS": "4", "MAX_TOTAL_TOKENS": "8192"},
    ),
    "tgi-neuronx": (
        {"max_model_len": 4096, "max_batch_size": 4},
        SIX_CHIPS,
        {
            "HF_MODEL_ID": "Qwen/Qwen3-4B",
            "HF_NUM_CORES": "12",
            "MAX_TOTAL_TOKENS": "4096",
            "HF_SEQUENCE_LENGTH": "4096",
            "MAX_BATCH_SIZE": "4",
            "HF_BATCH_SIZE": "4",
        },
    ),
    "huggingface": ({}, FOUR_GPUS, {"HF_MODEL_ID": "Qwen/Qwen3-4B", "HF_TASK": "text-generation"}),
    "llama-cpp": (
        {"max_model_len": 8192, "max_batch_size": 2},
        NO_GPU,
        {"SM_LLAMA_CPP_HF_REPO": "Qwen/Qwen3-4B", "SM_LLAMA_CPP_CTX_SIZE": "8192", "SM_LLAMA_CPP_PARALLEL": "2"},
    ),
    "custom": ({"image_uri": f"{OWN_REGISTRY}/own:1"}, FOUR_GPUS, {}),
}


@pytest.mark.parametrize("engine", TYPICAL)
def test_each_engine_has_variables_of_its_own(engine: str) -> None:
    serving, instance_type, environment = TYPICAL[engine]
    settings = told(hosting={"instance_type": instance_type}, engine=engine, **serving)
    assert (settings.environment, settings.properties) == (environment, None)


@pytest.mark.parametrize(
    ("engine", "dtype", "name", "word"),
    [
        ("lmi-vllm", "fp16", "OPTION_DTYPE", "fp16"),
        ("vllm", "fp16", "SM_VLLM_DTYPE", "float16"),
        ("sglang", "bf16", "SM_SGLANG_DTYPE", "bfloat16"),
        ("tgi", "bf16", "DTYPE", "bfloat16"),
    ],
)
def test_each_engine_has_its_own_word_for_a_type(engine: str, dtype: str, name: str, word: str) -> None:
    assert told({"dtype": dtype}, engine=engine).environment[name] == word


@pytest.mark.parametrize(
    ("engine", "quantization", "name", "word"),
    [
        ("lmi-vllm", "fp8", "OPTION_QUANTIZE", "fp8"),
        ("vllm", "bitsandbytes4", "SM_VLLM_QUANTIZATION", "bitsandbytes"),
        ("tgi", "bitsandbytes4", "HF_MODEL_QUANTIZE", "bitsandbytes-nf4"),
        ("lmi-vllm", "awq", "OPTION_QUANTIZE", None),  # the files state it
        ("lmi-huggingface", "bitsandbytes4", "OPTION_QUANTIZE", "bitsandbytes4"),
    ],
)
def test_each_engine_has_its_own_word_for_a_format(engine: str, quantization: str, name: str, word: str | None) -> None:
    assert told({"quantization": quantization}, engine=engine).environment.get(name) == word


def test_a_value_that_an_engine_does_not_take_is_left_to_the_rule_that_refuses_it() -> None:
    assert "OPTION_QUANTIZE" not in told({"quantization": "bitsandbytes8"}).environment


@pytest.mark.parametrize("name", ["OPTION_TENSOR_PARALLEL_DEGREE", "TENSOR_PARALLEL_DEGREE", "SM_NUM_GPUS"])
def test_an_explicit_variable_replaces_the_derived_one_under_any_name(name: str) -> None:
    environment = told(tensor_parallel_degree=4, environment={name: "2"}).environment
    assert {key: value for key, value in environment.items() if key in VARIABLE_ALIASES["tensor_parallel_degree"]} == {
        name: "2"
    }


def test_a_variable_of_another_engine_keeps_nothing_away() -> None:
    environment = told(tensor_parallel_degree=4, environment={"SM_VLLM_TENSOR_PARALLEL_SIZE": "2"}).environment
    assert environment["TENSOR_PARALLEL_DEGREE"] == "4"


def test_explicit_variables_win() -> None:
    assert told(environment={"SERVING_FAIL_FAST": "false"}).environment["SERVING_FAIL_FAST"] == "false"
    lines = properties(engine="lmi-deepspeed", version="0.26.0", environment={"OPTION_DTYPE": "bf16"})
    assert lines["option.dtype"] == "bf16"


def test_lmi_may_take_as_long_for_a_job_as_sagemaker_allows() -> None:
    hosting = {**ASYNC, "instance_type": FOUR_GPUS}
    assert "900" in (
        told(hosting=hosting).environment.get(name) for name in ("PREDICT_TIMEOUT", "OPTION_PREDICT_TIMEOUT")
    )
    assert not [name for name in told().environment if name.endswith("PREDICT_TIMEOUT")]


def test_djl_serving_may_load_for_as_long_as_sagemaker_waits() -> None:
    hosting = {"instance_type": FOUR_GPUS, "startup_timeout_in_seconds": 2400}
    lines = properties(hosting=hosting, engine="lmi-deepspeed", version="0.26.0")
    assert lines["option.model_loading_timeout"] == "2400"


def test_an_old_tgi_gets_limits_it_can_start_with() -> None:
    environment = told(engine="tgi", version="1.4.0", max_model_len=1024).environment
    assert int(environment["MAX_INPUT_LENGTH"]) < int(environment["MAX_TOTAL_TOKENS"]) == 1024
    assert int(environment["MAX_BATCH_PREFILL_TOKENS"]) >= int(environment["MAX_INPUT_LENGTH"])


@pytest.mark.parametrize("given_by_hand", [{"MAX_TOTAL_TOKENS": "2048"}, {"MAX_INPUT_TOKENS": "1000"}])
def test_limits_of_an_old_tgi_that_are_given_by_hand_are_left_alone(given_by_hand: dict[str, str]) -> None:
    environment = told(engine="tgi", version="2.0.2", max_model_len=1024, environment=given_by_hand).environment
    assert "MAX_INPUT_LENGTH" not in environment


def test_a_new_tgi_computes_its_limits_itself() -> None:
    assert "MAX_INPUT_LENGTH" not in told(engine="tgi", version="3.3.6", max_model_len=1024).environment


def test_a_pool_gets_the_degree_of_its_smallest_type() -> None:
    types = {"instance_type": ["ml.g6.48xlarge", "ml.g6.12xlarge"]}
    assert told(hosting=types).environment["TENSOR_PARALLEL_DEGREE"] == "4"


def test_the_degree_is_one_that_the_heads_divide_into() -> None:
    eight = {"instance_type": "ml.g6.48xlarge"}
    assert told({"id": "Qwen/Qwen2.5-7B-Instruct"}, eight).environment["TENSOR_PARALLEL_DEGREE"] == "4"
    assert told({"id": "Qwen/Qwen2.5-7B-Instruct"}, eight, engine="tgi").environment["SM_NUM_GPUS"] == "4"


def test_a_variable_belongs_to_a_kind_of_server_or_to_several() -> None:
    assert is_read("OPTION_DTYPE", "djl")
    assert not is_read("OPTION_DTYPE", "vllm")
    assert is_read("HF_TOKEN", "vllm")
    assert is_read("SM_VLLM_DTYPE", "own")


def test_every_variable_of_the_catalog_is_read_by_its_server() -> None:
    for version in VERSIONS:
        server = {"djl-inference": "djl"}.get(version.repository)
        for variable in version.variables.values():
            assert server is None or is_read(variable.name, server), (version.engine, variable.name)


@pytest.mark.parametrize(
    ("model", "task"), [("openai-community/gpt2", "text-generation"), ("google/flan-t5-xl", "text2text-generation")]
)
def test_the_toolkit_gets_the_task_of_the_model(model: str, task: str) -> None:
    changes: Changes = {"model": {"id": model}, "serving": {"engine": "huggingface"}}
    assert resolved(changes).environment["HF_TASK"] == task


def test_llama_cpp_finds_staged_weights_by_itself() -> None:
    changes: Changes = {"model": {"weights": "s3://bucket/prefix/"}, "serving": {"engine": "llama-cpp"}}
    assert "SM_LLAMA_CPP_HF_REPO" not in resolved(changes).environment
