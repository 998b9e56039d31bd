"""What the settings of a deployment become in the container: variables, or the lines of a serving.properties."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from any_deployments import VERSIONS, deployments
from llm_hosting.container_settings import (
    NAMES,
    ContainerSettings,
    container_settings,
    derived_environment,
    is_read,
    needs_archive,
    properties_of,
)
from llm_hosting.deployment import Deployment
from local_cloud.model_server.djl.properties import variables_of
from rule_cases import ASYNC, OWN_REGISTRY, SECRET, Changes, deployment

FOUR_GPUS, SIX_CHIPS, NO_GPU = "ml.g6.12xlarge", "ml.inf2.24xlarge", "ml.m7i.2xlarge"
WEIGHTS = "s3://bucket/some/prefix/"


def told(model: Changes | None = None, hosting: Changes | None = None, **serving: Any) -> ContainerSettings:
    content: Changes = {"model": model or {}, "serving": serving, "hosting": hosting or {"instance_type": FOUR_GPUS}}
    return container_settings(deployment(content))


def properties(model: Changes | None = None, hosting: Changes | None = None, **serving: Any) -> dict[str, str]:
    lines = told(model, hosting, **serving).properties
    assert lines is not None
    return lines


TYPICAL: dict[str, tuple[Changes, str, Changes]] = {
    "lmi-vllm": (
        {"max_model_len": 8192, "max_batch_size": 16},
        FOUR_GPUS,
        {
            "HF_MODEL_ID": "Qwen/Qwen3-4B",
            "TENSOR_PARALLEL_DEGREE": "4",
            "OPTION_MAX_MODEL_LEN": "8192",
            "OPTION_MAX_ROLLING_BATCH_SIZE": "16",
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
def test_an_engine_is_told_in_its_own_variables(engine: str) -> None:
    serving, instance_type, environment = TYPICAL[engine]
    settings = told(hosting={"instance_type": instance_type}, engine=engine, **serving)
    assert settings == ContainerSettings(environment, None)


@pytest.mark.parametrize(
    ("engine", "version", "handler"),
    [
        ("lmi-deepspeed", "0.26.0", "djl_python.deepspeed"),
        ("lmi-fastertransformer", "0.24.0", "djl_python.fastertransformer"),
        ("lmi-neuronx", "0.23.0", "djl_python.transformers-neuronx"),
        ("lmi-neuronx", "0.24.0", "djl_python.transformers_neuronx"),
        ("lmi-huggingface", "0.26.0", "djl_python.huggingface"),
        ("lmi-tensorrt-llm", "0.26.0", "djl_python.tensorrt_llm"),
    ],
)
def test_what_dates_from_before_the_variables_of_lmi_is_told_in_a_file(engine: str, version: str, handler: str) -> None:
    hosting = {"instance_type": SIX_CHIPS if engine == "lmi-neuronx" else FOUR_GPUS}
    model = {"id": "facebook/opt-6.7b", "dtype": "fp16"}
    settings = told(model, hosting, engine=engine, version=version, tensor_parallel_degree=2)
    lines = settings.properties or {}
    assert lines["option.model_id"] == "facebook/opt-6.7b"
    assert lines["option.entryPoint"] == handler
    assert lines["option.tensor_parallel_degree"] == "2"
    assert lines["option.dtype"] == "fp16"
    assert lines["engine"]
    assert not [name for name in settings.environment if name.startswith(("OPTION_", "HF_MODEL"))]


@pytest.mark.parametrize(
    ("engine", "version", "djl_engine"),
    [
        ("lmi-deepspeed", "0.26.0", "DeepSpeed"),
        ("lmi-fastertransformer", "0.24.0", "FasterTransformer"),
        ("lmi-neuronx", "0.24.0", "Python"),
        ("lmi-huggingface", "0.26.0", "Python"),
        ("lmi-tensorrt-llm", "0.26.0", "MPI"),
    ],
)
def test_djl_serving_is_told_its_own_engine(engine: str, version: str, djl_engine: str) -> None:
    assert properties(engine=engine, version=version)["engine"] == djl_engine


def test_dynamic_batching_is_two_lines_of_the_server() -> None:
    lines = properties(
        {"id": "nomic-ai/gpt4all-j", "dtype": "fp16"},
        {"instance_type": SIX_CHIPS},
        engine="lmi-neuronx",
        version="0.24.0",
        max_model_len=512,
        max_batch_size=4,
        max_batch_delay_in_ms=100,
    )
    assert (lines["batch_size"], lines["max_batch_delay"], lines["option.n_positions"]) == ("4", "100", "512")


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
        ("lmi-vllm", "awq", "OPTION_QUANTIZE", None),  # the files say it
        ("lmi-huggingface", "bitsandbytes4", "OPTION_QUANTIZE", "bitsandbytes4"),
    ],
)
def test_each_engine_has_its_own_word_for_a_format(engine: str, quantization: str, name: str, word: str | None) -> None:
    assert told({"quantization": quantization}, engine=engine).environment.get(name) == word


def test_a_value_that_an_engine_does_not_take_is_left_to_the_rule_that_refuses_it() -> None:
    assert "OPTION_QUANTIZE" not in told({"quantization": "bitsandbytes8"}).environment


@pytest.mark.parametrize("name", ["OPTION_TENSOR_PARALLEL_DEGREE", "TENSOR_PARALLEL_DEGREE", "SM_NUM_GPUS"])
def test_a_variable_given_by_hand_keeps_away_ours_under_whatever_name(name: str) -> None:
    environment = told(tensor_parallel_degree=4, environment={name: "2"}).environment
    assert {key: value for key, value in environment.items() if key in NAMES["tensor_parallel_degree"]} == {name: "2"}


def test_a_variable_of_another_engine_keeps_nothing_away() -> None:
    environment = told(tensor_parallel_degree=4, environment={"SM_VLLM_TENSOR_PARALLEL_SIZE": "2"}).environment
    assert environment["TENSOR_PARALLEL_DEGREE"] == "4"


def test_what_is_given_by_hand_wins() -> None:
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


# Where weights come from.


def test_weights_from_the_hub_are_named_with_their_revision() -> None:
    environment = told({"revision": "main"}).environment
    assert (environment["HF_MODEL_ID"], environment["HF_REVISION"]) == ("Qwen/Qwen3-4B", "main")


@pytest.mark.parametrize(
    ("engine", "name"), [("lmi-vllm", "HF_MODEL_ID"), ("vllm", "SM_VLLM_MODEL"), ("tgi", "HF_MODEL_ID")]
)
def test_weights_in_s3_are_read_where_sagemaker_puts_them(engine: str, name: str) -> None:
    settings = told({"weights": WEIGHTS, "revision": "main"}, engine=engine)
    assert settings.environment[name] == "/opt/ml/model"
    assert settings.properties is None
    assert "main" not in settings.environment.values()


@pytest.mark.parametrize(
    ("version", "line", "other"),
    [
        ("0.21.0", "option.s3url", "option.model_id"),
        ("0.22.1", "option.model_id", "option.s3url"),
        ("0.26.0", "option.model_id", "option.s3url"),
    ],
)
def test_beside_an_archive_the_container_fetches_weights_itself(version: str, line: str, other: str) -> None:
    settings = told({"weights": WEIGHTS}, engine="lmi-deepspeed", version=version)
    lines = settings.properties or {}
    assert lines[line] == WEIGHTS
    assert other not in lines
    assert "Qwen/Qwen3-4B" not in {**settings.environment, **lines}.values()


def test_an_own_handler_finds_weights_in_s3_by_bucket_and_prefix() -> None:
    settings = told({"weights": WEIGHTS}, engine="lmi-deepspeed", version="0.26.0", handler="mine")
    assert settings.environment["MODEL_S3_BUCKET"] == "bucket"
    assert settings.environment["MODEL_S3_PREFIX"] == "some/prefix/"
    assert not {"option.model_id", "option.s3url"} & (settings.properties or {}).keys()


def test_an_own_handler_finds_weights_on_the_hub_by_their_id() -> None:
    settings = told(engine="lmi-deepspeed", version="0.26.0", handler="mine")
    assert (settings.properties or {})["option.model_id"] == "Qwen/Qwen3-4B"
    assert "MODEL_S3_BUCKET" not in settings.environment


def test_the_token_is_a_reference_and_goes_only_where_something_is_downloaded() -> None:
    reference = f"{{{{resolve:secretsmanager:{SECRET}}}}}"
    assert told({"hub_token_secret_arn": SECRET}).environment["HF_TOKEN"] == reference
    assert reference not in told({"hub_token_secret_arn": SECRET, "weights": WEIGHTS}).environment.values()
    old = told({"hub_token_secret_arn": SECRET}, engine="lmi-deepspeed", version="0.26.0")
    assert reference in old.environment.values()
    assert reference not in (old.properties or {}).values()  # the archive lies in a bucket


# Own handlers.


@pytest.mark.parametrize(
    ("engine", "version", "djl_engine"),
    [
        ("lmi-deepspeed", "0.26.0", "DeepSpeed"),
        ("lmi-huggingface", "0.36.0-lmi28", "Python"),
        ("lmi-vllm", None, "Python"),
    ],
)
def test_an_own_handler_runs_in_the_place_of_a_built_in_one(engine: str, version: str | None, djl_engine: str) -> None:
    lines = properties(engine=engine, version=version, handler="mine")
    assert lines["engine"] == djl_engine
    assert "option.entryPoint" not in lines
    assert lines["option.rolling_batch"] == "disable"


def test_before_rolling_batches_there_is_none_to_disable() -> None:
    lines = properties(engine="lmi-deepspeed", version="0.22.1", handler="mine")
    assert lines.get("option.rolling_batch") is None


def test_an_entry_point_given_by_hand_does_not_replace_an_own_handler() -> None:
    given_by_hand = {"OPTION_ENTRYPOINT": "djl_python.huggingface"}
    settings = told(engine="lmi-huggingface", handler="mine", environment=given_by_hand)
    assert "option.entryPoint" not in (settings.properties or {})
    assert "OPTION_ENTRYPOINT" not in settings.environment


# Degree.


def test_a_pool_gets_the_degree_of_its_smallest_type() -> None:
    types = {"instance_type": ["ml.g6.48xlarge", "ml.g6.12xlarge"]}
    assert told(hosting=types).environment["TENSOR_PARALLEL_DEGREE"] == "4"


def test_the_degree_is_one_that_the_heads_divide_into() -> None:
    eight = {"instance_type": "ml.g6.48xlarge"}
    assert told({"id": "Qwen/Qwen2.5-7B-Instruct"}, eight).environment["TENSOR_PARALLEL_DEGREE"] == "4"
    assert told({"id": "Qwen/Qwen2.5-7B-Instruct"}, eight, engine="tgi").environment["SM_NUM_GPUS"] == "4"


# Properties and variables.


def test_server_settings_stay_in_the_environment() -> None:
    settings = told(
        engine="lmi-deepspeed",
        version="0.26.0",
        environment={"SERVING_FAIL_FAST": "true", "SERVING_JOB_QUEUE_SIZE": "9", "LANG": "C"},
    )
    assert settings.environment["SERVING_FAIL_FAST"] == "true"
    assert settings.environment["LANG"] == "C"
    assert (settings.properties or {})["job_queue_size"] == "9"


CANONICAL = {
    "HF_MODEL_ID": "OPTION_MODEL_ID",
    "HF_REVISION": "OPTION_REVISION",
    "TENSOR_PARALLEL_DEGREE": "OPTION_TENSOR_PARALLEL_DEGREE",
}
settings_of_a_model = st.dictionaries(
    st.sampled_from(sorted({*CANONICAL, "OPTION_ENTRYPOINT", "SERVING_ENGINE", "SERVING_BATCH_SIZE"}))
    | st.from_regex(r"(OPTION|SERVING)_[A-Z][A-Z0-9_]{0,20}", fullmatch=True),
    st.text(max_size=20),
    max_size=6,
)


@given(environment=settings_of_a_model)
def test_a_file_says_what_the_variables_say(environment: dict[str, str]) -> None:
    read_back = variables_of(properties_of(environment))
    for name, value in environment.items():
        said_twice = CANONICAL.get(name) in environment  # then one of the two is as good as the other
        stays = name in ("SERVING_FAIL_FAST", "SERVING_LOAD_MODELS", "SERVING_OPTS")
        assert said_twice or stays or read_back[CANONICAL.get(name, name)] == value


@given(any_deployment=deployments())
def test_nothing_is_lost_between_environment_and_file(any_deployment: Deployment) -> None:
    said = {**derived_environment(any_deployment), **any_deployment.serving.environment}
    settings = container_settings(any_deployment)
    assert (settings.properties is not None) == needs_archive(any_deployment.serving)
    lost = {name for name in said if name not in settings.environment and name not in ("OPTION_ENTRYPOINT",)}
    kept = set(variables_of(settings.properties or {}))
    assert {CANONICAL.get(name, name).upper() for name in lost} <= kept


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
