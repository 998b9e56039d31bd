"""The container of a deployment: its image is recognised, and its variables are read back."""

from typing import Any

import pytest

from llm_hosting.catalog.engines import EngineVersion
from llm_hosting.resolution import Container
from llm_hosting.resolution.variables import VARIABLE_ALIASES
from support.deployments.any_deployments import VERSIONS
from support.deployments.good_one import OWN_REGISTRY, Changes, resolved


def container(model: Changes | None = None, **serving: Any) -> Container:
    return resolved({"model": model or {}, "serving": serving}).container


def variables(**environment: str) -> Container:
    return container(environment=environment)


def is_recognised(version: EngineVersion) -> bool:
    copy = f"{OWN_REGISTRY}/mirror/{version.repository}:{version.tag}"
    return container(engine=version.engine, image_uri=copy).version == version


def test_a_copy_of_a_published_image_is_recognised() -> None:
    published = [version for version in VERSIONS if version.tag]
    assert [version.tag for version in published if not is_recognised(version)] == []


def test_the_image_decides_on_the_engine_not_the_setting() -> None:
    found = container(engine="lmi-vllm", image_uri=f"{OWN_REGISTRY}/vllm:server-sagemaker-cuda-v2.2")
    assert (found.engine, found.server, found.vllm) == ("vllm", "vllm", "0.26.0")


def test_of_an_image_with_several_engines_the_named_one_runs() -> None:
    copy = f"{OWN_REGISTRY}/djl-inference:0.36.0-lmi28.0.0-cu130"
    assert container(image_uri=copy).engine == "lmi-vllm"
    assert container(engine="lmi-huggingface", image_uri=copy).engine == "lmi-huggingface"


def test_a_pinned_build_is_the_same_image() -> None:
    found = container(image_uri=f"{OWN_REGISTRY}/djl-inference:0.36.0-lmi28.0.0-cu130-v1.7").version
    assert found is not None
    assert found.label == "0.36.0-lmi28"


@pytest.mark.parametrize("image", ["own:1", "djl-inference:0.36.0-lmi28", f"djl-inference@sha256:{'0' * 64}"])
def test_an_image_of_ones_own_is_not_mistaken_for_another(image: str) -> None:
    assert container(image_uri=f"{OWN_REGISTRY}/{image}").version is None


@pytest.mark.parametrize(
    ("word", "length"),
    [("8192", 8192), ("8k", 8000), ("8K", 8192), ("auto", None), ("-1", None), ("", 4096), ("9" * 30, None)],
)
def test_a_length_that_is_no_number_is_not_known(word: str, length: int | None) -> None:
    assert container(max_model_len=4096, environment={"OPTION_MAX_MODEL_LEN": word}).max_model_len == length


@pytest.mark.parametrize(
    ("engine", "name"),
    [
        ("lmi-vllm", "OPTION_MAX_MODEL_LEN"),
        ("vllm", "SM_VLLM_MAX_MODEL_LEN"),
        ("tgi", "MAX_TOTAL_TOKENS"),
        ("sglang", "SM_SGLANG_CONTEXT_LENGTH"),
    ],
)
def test_each_engine_has_a_name_for_the_context(engine: str, name: str) -> None:
    assert container(engine=engine, environment={name: "4096"}).max_model_len == 4096


@pytest.mark.parametrize(
    ("word", "dtype"),
    [("float16", "fp16"), ("half", "fp16"), ("bfloat16", "bf16"), ("float", "fp32"), ("auto", None), ("FP16", "fp16")],
)
def test_engines_have_words_of_their_own_for_types(word: str, dtype: str | None) -> None:
    assert variables(OPTION_DTYPE=word).dtype == dtype


@pytest.mark.parametrize(
    ("model", "serving", "quantization"),
    [
        ({}, {}, None),
        ({"quantization": "fp8"}, {}, "fp8"),
        ({"quantization": "fp8"}, {"environment": {"OPTION_QUANTIZE": "awq"}}, "awq"),
        ({"id": "Qwen/Qwen2.5-7B-Instruct-AWQ"}, {}, "awq"),
        ({"id": "Qwen/Qwen2.5-7B-Instruct-AWQ"}, {"environment": {"OPTION_QUANTIZE": "awq_marlin"}}, "awq"),
        ({"id": "Qwen/Qwen2.5-7B-Instruct-AWQ"}, {"environment": {"OPTION_QUANTIZE": "compressed-tensors"}}, "awq"),
        ({"id": "TheBloke/anything-13B-GPTQ"}, {}, None),  # a name proves nothing
        ({}, {"environment": {"OPTION_QUANTIZE": "bitsandbytes"}}, "bitsandbytes4"),
        ({}, {"environment": {"HF_MODEL_QUANTIZE": "bitsandbytes"}, "engine": "tgi"}, "bitsandbytes8"),
        ({}, {"environment": {"OPTION_LOAD_IN_8BIT": "TRUE"}, "engine": "lmi-huggingface"}, "bitsandbytes8"),
        ({}, {"environment": {"OPTION_LOAD_IN_4BIT": "true"}, "engine": "lmi-huggingface"}, "bitsandbytes4"),
        ({}, {"environment": {"OPTION_QUANTIZE": "hqq"}}, None),
    ],
)
def test_quantization_is_as_asked_for_or_as_the_files_are(
    model: Changes, serving: Changes, quantization: str | None
) -> None:
    assert container(model, **serving).quantization == quantization


def test_a_format_that_nobody_knows_is_named() -> None:
    assert variables(OPTION_QUANTIZE="hqq").unknown_format == "hqq"
    assert variables(OPTION_QUANTIZE="none").unknown_format is None
    assert variables(OPTION_QUANTIZE="awq").unknown_format is None


@pytest.mark.parametrize(
    ("model", "environment", "hub_id", "comes_from_hub"),
    [
        ({}, {}, "Qwen/Qwen3-4B", True),
        ({"weights": "s3://bucket/prefix/"}, {}, "Qwen/Qwen3-4B", False),
        ({}, {"HF_MODEL_ID": "Qwen/Qwen3-0.6B"}, "Qwen/Qwen3-0.6B", True),
        ({}, {"OPTION_MODEL_ID": "s3://bucket/prefix/"}, "Qwen/Qwen3-4B", False),
        ({}, {"HF_MODEL_ID": "/opt/ml/model"}, "Qwen/Qwen3-4B", False),
        ({}, {"SERVING_LOAD_MODELS": "test::MPI=/opt/ml/model"}, "Qwen/Qwen3-4B", False),
        ({"id": "gpt2"}, {"HF_MODEL_ID": "gpt2"}, "gpt2", True),
    ],
)
def test_the_model_is_the_one_that_the_container_loads(
    model: Changes, environment: dict[str, str], hub_id: str, comes_from_hub: bool
) -> None:
    found = container(model, environment=environment)
    assert (found.model_id, found.comes_from_hub) == (hub_id, comes_from_hub)


def test_sagemaker_downloads_weights_that_are_model_data() -> None:
    weights = {"weights": "s3://bucket/prefix/"}
    assert container(weights).sagemaker_downloads
    assert not container().sagemaker_downloads
    assert not container(
        weights, engine="lmi-huggingface", handler="mine"
    ).sagemaker_downloads  # the model data is an archive instead


def test_the_rolling_batch_decides_on_the_library_in_lmi() -> None:
    assert container(engine="lmi-vllm", version="0.30.0-lmi12").vllm == "0.6.2"
    assert container(engine="lmi-deepspeed", environment={"OPTION_ROLLING_BATCH": "vllm"}).runs_vllm
    assert not container(engine="lmi-deepspeed").runs_vllm
    assert not container(engine="lmi-vllm", environment={"OPTION_ROLLING_BATCH": "scheduler"}).runs_vllm
    assert not container(engine="lmi-vllm", handler="mine").runs_vllm


@pytest.mark.parametrize(
    ("word", "number"),
    [("0.9", 0.9), ("1", 1), (".5", 0.5), (" 0.5 ", 0.5), ("nan", None), ("inf", None), ("1e400", None), ("-1", None)],
)
def test_a_number_is_an_ordinary_number(word: str, number: float | None) -> None:
    assert variables(OPTION_GPU_MEMORY_UTILIZATION=word).number("OPTION_GPU_MEMORY_UTILIZATION") == number


def test_every_variable_that_we_set_is_read_back() -> None:
    """Variables that mean more than the setting are excepted: a file's name, a switch."""
    apart = {"SM_LLAMA_CPP_HF_FILE", "SM_LLAMACPP_HF_FILE", "OPTION_LOAD_IN_8BIT"}
    for version in VERSIONS:
        for setting, variable in version.variables.items():
            assert variable.name in {*VARIABLE_ALIASES.get(setting, (variable.name,)), *apart}, (
                version.engine,
                setting,
            )


WEIGHTS = {"weights": "s3://models/qwen/"}


@pytest.mark.parametrize(
    ("model", "serving", "served", "aliases"),
    [
        ({}, {}, "Qwen/Qwen3-4B", ("lmi",)),
        ({}, {"version": "0.33.0-lmi15"}, "Qwen/Qwen3-4B", ("lmi",)),
        (WEIGHTS, {"engine": "vllm"}, "Qwen/Qwen3-4B", ("/opt/ml/model",)),
        ({}, {"engine": "vllm"}, "Qwen/Qwen3-4B", ()),
        (WEIGHTS, {"engine": "sglang"}, "Qwen/Qwen3-4B", ()),  # takes any name
        ({}, {"environment": {"OPTION_SERVED_MODEL_NAME": "chat"}}, "chat", ("Qwen/Qwen3-4B", "lmi")),
        ({}, {"environment": {"OPTION_SERVED_MODEL_NAME": "lmi"}}, "lmi", ("Qwen/Qwen3-4B",)),
        ({}, {"version": "0.32.0-lmi14"}, None, ()),
        ({}, {"environment": {"OPTION_ROLLING_BATCH": "vllm"}}, "Qwen/Qwen3-4B", ()),
        ({}, {"environment": {"OPTION_ENTRYPOINT": "djl_python.huggingface"}}, "Qwen/Qwen3-4B", ()),
        ({}, {"environment": {"OPTION_ASYNC_MODE": "false"}}, "Qwen/Qwen3-4B", ()),
        ({}, {"engine": "tgi"}, None, ()),
        ({}, {"engine": "lmi-huggingface"}, None, ()),
        ({}, {"handler": "transformers"}, None, ()),
    ],
)
def test_a_client_may_use_the_model_s_id_on_each_engine_and_the_container_s_own_name(
    model: Changes, serving: Changes, served: str | None, aliases: tuple[str, ...]
) -> None:
    found = container(model, **serving)
    names = {found.environment.get(name) for name in VARIABLE_ALIASES["served_model_name"]} - {None}
    assert (names, found.model_aliases) == ({served} - {None}, aliases)


@pytest.mark.parametrize(
    ("serving", "longest"),
    [
        ({}, 8191),
        ({"engine": "vllm"}, 8191),
        ({"engine": "tgi"}, 8191),
        ({"engine": "sglang"}, 8191),
        ({"engine": "sglang", "environment": {"SM_SGLANG_ALLOW_AUTO_TRUNCATE": "true"}}, None),
        ({"engine": "vllm", "environment": {"SM_VLLM_MAX_MODEL_LEN": "auto"}}, None),
        ({"version": "0.32.0-lmi14"}, None),  # a rolling batch stops at the end of the context
        ({"engine": "llama-cpp"}, None),
        ({"engine": "lmi-deepspeed"}, None),
        ({"image_uri": f"{OWN_REGISTRY}/own:1"}, None),
    ],
)
def test_an_answer_longer_than_the_context_is_known_to_be_refused(serving: Changes, longest: int | None) -> None:
    resolution = resolved({"serving": {"max_model_len": 8192, **serving}})
    assert resolution.container.longest_answer == longest
    for name in ("max_new_tokens", "max_tokens", "max_completion_tokens"):
        assert resolution.parameters.get(name, {}).get("maximum") == longest
