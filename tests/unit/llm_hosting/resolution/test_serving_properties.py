"""Settings of deployments whose model data holds a serving.properties, an own handler, or the weights."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from llm_hosting.deployment.model import Deployment
from llm_hosting.resolution import resolve
from llm_hosting.resolution.image import needs_archive
from llm_hosting.resolution.variables import properties_of
from local_cloud.model_server.djl.properties import variables_of
from support.deployments.any_deployments import deployments
from support.deployments.good_one import SECRET
from support.deployments.on_four_gpus import FOUR_GPUS, properties, told

SIX_CHIPS = "ml.inf2.24xlarge"
WEIGHTS = "s3://bucket/some/prefix/"


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
def test_old_images_get_a_serving_properties(engine: str, version: str, handler: str) -> None:
    hosting = {"instance_type": SIX_CHIPS if engine == "lmi-neuronx" else FOUR_GPUS}
    model = {"id": "facebook/opt-1.3b", "dtype": "fp16"}
    found = told(model, hosting, engine=engine, version=version, tensor_parallel_degree=2)
    lines = found.properties or {}
    assert lines["option.model_id"] == "facebook/opt-1.3b"
    assert lines["option.entryPoint"] == handler
    assert lines["option.tensor_parallel_degree"] == "2"
    assert lines["option.dtype"] == "fp16"
    assert lines["engine"]
    assert not [name for name in found.environment if name.startswith(("OPTION_", "HF_MODEL"))]


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
def test_djl_serving_gets_the_name_of_its_engine(engine: str, version: str, djl_engine: str) -> None:
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


def test_weights_from_the_hub_are_named_with_their_revision() -> None:
    environment = told({"revision": "main"}).environment
    assert (environment["HF_MODEL_ID"], environment["HF_REVISION"]) == ("Qwen/Qwen3-4B", "main")


@pytest.mark.parametrize(
    ("engine", "name"), [("lmi-vllm", "HF_MODEL_ID"), ("vllm", "SM_VLLM_MODEL"), ("tgi", "HF_MODEL_ID")]
)
def test_weights_in_s3_are_read_where_sagemaker_puts_them(engine: str, name: str) -> None:
    found = told({"weights": WEIGHTS, "revision": "main"}, engine=engine)
    assert found.environment[name] == "/opt/ml/model"
    assert found.properties is None
    assert "main" not in found.environment.values()


@pytest.mark.parametrize(
    ("version", "line", "other"),
    [
        ("0.21.0", "option.s3url", "option.model_id"),
        ("0.22.1", "option.model_id", "option.s3url"),
        ("0.26.0", "option.model_id", "option.s3url"),
    ],
)
def test_beside_an_archive_the_container_fetches_weights_itself(version: str, line: str, other: str) -> None:
    found = told({"weights": WEIGHTS}, engine="lmi-deepspeed", version=version)
    lines = found.properties or {}
    assert lines[line] == WEIGHTS
    assert other not in lines
    assert "Qwen/Qwen3-4B" not in {**found.environment, **lines}.values()


def test_an_own_handler_finds_weights_in_s3_by_bucket_and_prefix() -> None:
    found = told({"weights": WEIGHTS}, engine="lmi-deepspeed", version="0.26.0", handler="mine")
    assert found.environment["MODEL_S3_BUCKET"] == "bucket"
    assert found.environment["MODEL_S3_PREFIX"] == "some/prefix/"
    assert not {"option.model_id", "option.s3url"} & (found.properties or {}).keys()


def test_an_own_handler_finds_weights_on_the_hub_by_their_id() -> None:
    found = told(engine="lmi-deepspeed", version="0.26.0", handler="mine")
    assert (found.properties or {})["option.model_id"] == "Qwen/Qwen3-4B"
    assert "MODEL_S3_BUCKET" not in found.environment


def test_the_token_is_a_reference_and_goes_only_where_something_is_downloaded() -> None:
    reference = f"{{{{resolve:secretsmanager:{SECRET}}}}}"
    assert told({"hub_token_secret_arn": SECRET}).environment["HF_TOKEN"] == reference
    assert reference not in told({"hub_token_secret_arn": SECRET, "weights": WEIGHTS}).environment.values()
    old = told({"hub_token_secret_arn": SECRET}, engine="lmi-deepspeed", version="0.26.0")
    assert reference in old.environment.values()
    assert reference not in (old.properties or {}).values()  # the archive lies in a bucket, where others may read it


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
    found = told(engine="lmi-huggingface", handler="mine", environment=given_by_hand)
    assert "option.entryPoint" not in (found.properties or {})
    assert "OPTION_ENTRYPOINT" not in found.environment


def test_server_settings_stay_in_the_environment() -> None:
    found = told(
        engine="lmi-deepspeed",
        version="0.26.0",
        environment={"SERVING_FAIL_FAST": "true", "SERVING_JOB_QUEUE_SIZE": "9", "LANG": "C"},
    )
    assert found.environment["SERVING_FAIL_FAST"] == "true"
    assert found.environment["LANG"] == "C"
    assert (found.properties or {})["job_queue_size"] == "9"


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
@settings(max_examples=50)
def test_variables_and_serving_properties_hold_the_same(environment: dict[str, str]) -> None:
    read_back = variables_of(properties_of(environment))
    for name, value in environment.items():
        said_twice = CANONICAL.get(name) in environment  # either of the two values may be kept
        stays = name in ("SERVING_FAIL_FAST", "SERVING_LOAD_MODELS", "SERVING_OPTS")
        assert said_twice or stays or read_back[CANONICAL.get(name, name)] == value


@given(any_deployment=deployments())
@settings(max_examples=50)
def test_nothing_is_lost_between_environment_and_file(any_deployment: Deployment) -> None:
    found = resolve(any_deployment)
    assert (found.properties is not None) == needs_archive(any_deployment.serving, found.container.version)
    said = {**found.container.environment, **any_deployment.serving.environment}
    lost = {name for name in said if name not in found.environment and name not in ("OPTION_ENTRYPOINT",)}
    kept = set(variables_of(found.properties or {}))
    assert {CANONICAL.get(name, name).upper() for name in lost} <= kept
