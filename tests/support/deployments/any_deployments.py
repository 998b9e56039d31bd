"""Hypothesis strategies of deployments: every engine and version, real and made-up names, odd values."""

from typing import Any, get_args

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy
from pydantic import BaseModel

from llm_hosting.catalog.engines import ENGINES, EngineVersion, engine
from llm_hosting.catalog.instances import ec2_instances, instances
from llm_hosting.catalog.models import model_shapes
from llm_hosting.deployment.model import Deployment
from llm_hosting.deployment.settings.hosting import Hosting
from llm_hosting.deployment.settings.model import Model
from llm_hosting.resolution.variables import VARIABLE_ALIASES
from support.deployments.good_one import ASYNC, KEY, OWN_REGISTRY, SECRET

VERSIONS: list[EngineVersion] = [version for name in ENGINES for version in engine(name).versions.values()]
HUB_IDS = [hub_id for shape in model_shapes() for hub_id in shape.ids]
MADE_UP_IDS = [
    "nobody/knows-this",
    "gpt2",
    "a/b-0b",
    "a/b-8x7b-awq",
    "TheBloke/Llama-2-13B-GGUF",
    "x/999999999999b-fp8",
]
MADE_UP_TYPES = ["placeholder", "ml.g6.3xlarge", "g5.xlarge"]
VARIABLES = sorted(
    {name for names in VARIABLE_ALIASES.values() for name in names}
    | {variable.name for version in VERSIONS for variable in version.variables.values()}
    | {
        "CUDA_MEMORY_FRACTION",
        "EXTRA",
        "HF_TASK",
        "MAX_BATCH_PREFILL_TOKENS",
        "MAX_BATCH_TOTAL_TOKENS",
        "MAX_INPUT_LENGTH",
        "MAX_INPUT_TOKENS",
        "MESSAGES_API_ENABLED",
        "MODEL_S3_BUCKET",
        "OPTION_ASYNC_MODE",
        "OPTION_ENTRYPOINT",
        "OPTION_GPU_MEMORY_UTILIZATION",
        "OPTION_KV_CACHE_DTYPE",
        "OPTION_LOAD_IN_4BIT",
        "OPTION_ROLLING_BATCH",
        "SERVING_LOAD_MODELS",
    }
)
WORDS = [
    "",
    "0",
    "1",
    "4",
    "-1",
    "8k",
    "max",
    "auto",
    "abc",
    "true",
    "none",
    "nan",
    "inf",
    "1e400",
    "9" * 400,
    "²",
    "٣",
]
MORE_WORDS = ["0.9", "0.0", "awq", "bitsandbytes", "hqq", "fp8", "bfloat16", "lmi-dist", "vllm", "s3://bucket/prefix/"]
PATHS = ["/opt/ml/model", "gpt2", "Qwen/Qwen3-0.6B", "test::MPI=/opt/ml/model", "djl_python.deepspeed", "<token>"]

environments = st.dictionaries(
    st.sampled_from(VARIABLES), st.sampled_from([*WORDS, *MORE_WORDS, *PATHS]) | st.text(max_size=8), max_size=3
)
instance_types = st.sampled_from([*instances(), *ec2_instances(), *MADE_UP_TYPES])


def images() -> SearchStrategy[str]:
    """Draw the URI of a copy of a published image, or of an unknown image."""
    copies = [f"{OWN_REGISTRY}/{version.repository}:{version.tag}" for version in VERSIONS if version.tag]
    own = ["own:1", "own:1-cu130", "team/own-neuronx:2", "own@sha256:" + "0" * 64, "djl-inference:0.1-cu9"]
    return st.sampled_from([*copies, *(f"{OWN_REGISTRY}/{name}" for name in own)])


def _some(**settings: SearchStrategy[Any]) -> SearchStrategy[dict[str, Any]]:
    """Draw a mapping with any of these settings."""
    return st.fixed_dictionaries({}, optional=settings)


def _one_of(section: type[BaseModel], field: str) -> SearchStrategy[Any]:
    """Draw one of the values that the schema lists, or null."""
    words, _ = get_args(section.model_fields[field].annotation)
    return st.sampled_from([*get_args(words), None])


def _serving() -> SearchStrategy[dict[str, Any]]:
    """Draw an engine, a version that may belong to another engine, and settings that the engine may refuse."""
    labels = st.sampled_from([*(version.label for version in VERSIONS), "9.9", ""])
    known = st.sampled_from(VERSIONS).map(lambda version: {"engine": version.engine, "version": version.label})
    other = st.builds(lambda name, label: {"engine": name, "version": label}, st.sampled_from(ENGINES), labels)
    plain = st.sampled_from(ENGINES).map(lambda name: {"engine": name})
    settings = _some(
        image_uri=images(),
        tensor_parallel_degree=st.integers(1, 64),
        max_model_len=st.integers(2, 100_000_000),
        max_batch_size=st.integers(1, 4096),
        max_batch_tokens=st.integers(1, 10_000_000),
        max_batch_delay_in_ms=st.integers(1, 60_000),
        max_new_tokens=st.integers(1, 100_000_000),
        handler=st.just("mine"),
        environment=environments,
    )
    return st.builds(lambda chosen, rest: {**chosen, **rest}, known | plain | other, settings)


def _model() -> SearchStrategy[dict[str, Any]]:
    settings = _some(
        revision=st.just("main"),
        weights=st.just("s3://bucket/prefix/"),
        parameters_in_billions=st.floats(0.001, 10_000),
        dtype=_one_of(Model, "dtype"),
        quantization=_one_of(Model, "quantization"),
        task=st.sampled_from(["generate", "embed", "rerank"]),
        pooling=_one_of(Model, "pooling"),
        hub_token_secret_arn=st.just(SECRET),
        weights_kms_key_arn=st.just(KEY),
    )
    ids = st.sampled_from([*HUB_IDS, *MADE_UP_IDS])
    return st.builds(lambda hub_id, rest: {"id": hub_id, **rest}, ids, settings)


def _hosting() -> SearchStrategy[dict[str, Any]]:
    types = instance_types | st.lists(instance_types, min_size=1, max_size=5)
    settings = _some(
        volume_size_in_gb=st.integers(1, 512),
        startup_timeout_in_seconds=st.integers(60, 3600),
        inference_ami_version=_one_of(Hosting, "inference_ami_version"),
        rollout=st.sampled_from([{"canary": {}}, *({"rolling": {"batch": batch}} for batch in (1, 30))]),
        scaling=st.builds(lambda requests: {"concurrent_requests_per_instance": requests}, st.integers(1, 10_000)),
    )
    modes = st.sampled_from([{}, {"mode": "async"}, ASYNC, {"mode": "ec2"}])
    return st.builds(lambda name, mode, rest: {"instance_type": name, **mode, **rest}, types, modes, settings)


def deployments() -> SearchStrategy[Deployment]:
    """Draw any deployment that the schema accepts."""
    return st.builds(
        lambda model, serving, hosting: Deployment.model_validate(
            {"model": model, "serving": serving, "hosting": hosting}
        ),
        _model(),
        _serving(),
        _hosting(),
    )
