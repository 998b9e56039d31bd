"""Turns settings into environment variables of the container, or into lines of a serving.properties."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from ..catalog.engines import EngineVersion, Variable, engine
from ..catalog.versions import is_before
from ..deployment.model import Deployment
from .adapter_variables import adapter_variables
from .image_variables import image_variables
from .known_model import known_shape

WEIGHTS_FOLDER = "/opt/ml/model"  # where SageMaker puts model data

# Names under which containers take the same setting (the entry points of LMI, TGI and AWS's vLLM and SGLang images map
# them). An explicit variable under any of them replaces the derived one.
VARIABLE_ALIASES: dict[str, tuple[str, ...]] = {
    "model": (
        "HF_MODEL_ID",
        "OPTION_MODEL_ID",
        "OPTION_S3URL",
        "SM_VLLM_MODEL",
        "SM_SGLANG_MODEL_PATH",
        "SM_LLAMA_CPP_HF_REPO",
        "SM_LLAMA_CPP_MODEL",
        "SM_LLAMACPP_HF_REPO",
        "SM_LLAMACPP_MODEL",
        "SERVING_LOAD_MODELS",
    ),
    "revision": (
        "HF_REVISION",
        "HF_MODEL_REVISION",
        "OPTION_REVISION",
        "REVISION",
        "SM_VLLM_REVISION",
        "SM_SGLANG_REVISION",
    ),
    "tensor_parallel_degree": (
        "TENSOR_PARALLEL_DEGREE",
        "OPTION_TENSOR_PARALLEL_DEGREE",
        "SM_NUM_GPUS",
        "NUM_SHARD",
        "HF_NUM_CORES",
        "SM_VLLM_TENSOR_PARALLEL_SIZE",
        "SM_SGLANG_TP_SIZE",
        "SM_SGLANG_TENSOR_PARALLEL_SIZE",
        "SM_SGLANG_TP",
    ),
    "max_model_len": (
        "OPTION_MAX_MODEL_LEN",
        "OPTION_MAX_TOKENS",
        "OPTION_N_POSITIONS",
        "MAX_TOTAL_TOKENS",
        "HF_SEQUENCE_LENGTH",
        "SM_VLLM_MAX_MODEL_LEN",
        "SM_SGLANG_CONTEXT_LENGTH",
        "SM_LLAMA_CPP_CTX_SIZE",
        "SM_LLAMACPP_CTX_SIZE",
    ),
    "max_batch_size": (
        "SERVING_BATCH_SIZE",
        "OPTION_BATCH_SIZE",
        "OPTION_MAX_ROLLING_BATCH_SIZE",
        "OPTION_MAX_NUM_SEQS",
        "MAX_BATCH_SIZE",
        "MAX_BATCH_REQUESTS",
        "HF_BATCH_SIZE",
        "SM_VLLM_MAX_NUM_SEQS",
        "SM_SGLANG_MAX_RUNNING_REQUESTS",
        "SM_LLAMA_CPP_PARALLEL",
        "SM_LLAMACPP_PARALLEL",
    ),
    "max_batch_tokens": (
        "MAX_BATCH_TOKENS",
        "OPTION_MAX_ROLLING_BATCH_PREFILL_TOKENS",
        "OPTION_MAX_NUM_BATCHED_TOKENS",
        "SM_VLLM_MAX_NUM_BATCHED_TOKENS",
    ),
    "max_batch_delay_in_ms": ("SERVING_MAX_BATCH_DELAY", "OPTION_MAX_BATCH_DELAY"),
    "dtype": ("OPTION_DTYPE", "DTYPE", "HF_AUTO_CAST_TYPE", "SM_VLLM_DTYPE", "SM_SGLANG_DTYPE"),
    "quantization": (
        "OPTION_QUANTIZE",
        "OPTION_QUANTIZATION",
        "HF_MODEL_QUANTIZE",
        "QUANTIZE",
        "SM_VLLM_QUANTIZATION",
        "SM_SGLANG_QUANTIZATION",
    ),
    "startup_timeout_in_seconds": ("OPTION_MODEL_LOADING_TIMEOUT", "MODEL_LOADING_TIMEOUT"),
    "task": ("OPTION_TASK", "SM_VLLM_RUNNER"),
    "pooling": ("POOLING", "OPTION_POOLER_CONFIG", "SM_VLLM_POOLER_CONFIG"),
    "served_model_name": ("OPTION_SERVED_MODEL_NAME", "SM_VLLM_SERVED_MODEL_NAME", "SM_SGLANG_SERVED_MODEL_NAME"),
    "hub_token": ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "HUGGINGFACE_HUB_TOKEN"),
}
# Only this kind of server reads variables with the prefix; several kinds read other variables.
_OWNERS = {"OPTION_": "djl", "SM_VLLM_": "vllm", "SM_SGLANG_": "sglang", "SM_LLAMA": "llama-cpp"}
_PROPERTIES = {
    "HF_MODEL_ID": "option.model_id",
    "HF_REVISION": "option.revision",
    "TENSOR_PARALLEL_DEGREE": "option.tensor_parallel_degree",
    "OPTION_ENTRYPOINT": "option.entryPoint",
}
_SERVER_VARIABLES = {
    "SERVING_FAIL_FAST",
    "SERVING_LOAD_MODELS",
    "SERVING_OPTS",
}  # settings of DJL Serving, not of one model
_TEXT_TO_TEXT = {"T5ForConditionalGeneration", "BartForConditionalGeneration"}
FIRST_ROLLING_BATCH = "0.23"  # the first DJL Serving that has rolling batches
TGI_INPUT, TGI_TOTAL, TGI_PREFILL = 1024, 2048, 4096  # TGI's defaults in tokens, unless the model states them


@dataclass(frozen=True)
class ContainerSettings:
    """Settings in the form in which the container gets them.

    derived: variables that follow from other settings, also if an explicit variable wins over them.
    variables: all variables that reach the container: those of `environment` and of `properties` together.
    environment: the variables in the template.
    properties: the lines of a serving.properties; None = there is no archive.
    """

    derived: Mapping[str, str]
    variables: Mapping[str, str]
    environment: Mapping[str, str]
    properties: Mapping[str, str] | None


def container_settings(
    deployment: Deployment, version: EngineVersion, degree: int, *, needs_archive: bool
) -> ContainerSettings:
    """Derive the container's variables; those of `serving.environment` win.

    degree: the tensor parallel degree on the smallest instance type.
    """
    given = deployment.serving.environment
    derived = _derived(deployment, version, degree, needs_archive=needs_archive)
    values = {name: value for name, (value, _) in derived.items()}
    variables = {**{name: value for name, (value, is_explicit) in derived.items() if not is_explicit}, **given}
    if not needs_archive:
        return ContainerSettings(values, variables, variables, None)
    properties = properties_of(variables)
    if deployment.serving.handler:
        properties.setdefault("engine", "Python")
        properties.pop("option.entryPoint", None)  # DJL Serving takes model.py from the archive
    rest = {name: value for name, value in variables.items() if _property(name) is None}
    return ContainerSettings(values, variables, rest, properties)


def properties_of(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the lines of a serving.properties that mean the same as these variables.

    DJL Serving reads OPTION_X as option.x and SERVING_X as x; a file wins over the environment.
    """
    named = ((_property(name), value) for name, value in sorted(environment.items()))
    return {name: value for name, value in named if name}


def is_read(variable: str, server: str) -> bool:
    """Whether a kind of server reads this variable; an own image may read any variable."""
    owner = next((owner for prefix, owner in _OWNERS.items() if variable.startswith(prefix)), server)
    return server in (owner, "own")


def explicit_value(setting: str, environment: Mapping[str, str], server: str) -> str | None:
    """Return the value of the environment variable for this setting, under any of its names; None = there is none."""
    names = (name for name in VARIABLE_ALIASES.get(setting, ()) if name in environment and is_read(name, server))
    return next((environment[name] for name in names), None)


def model_id_of(deployment: Deployment, server: str) -> str:
    """Return the Hub id that the container loads: an explicit variable wins over `model.id`."""
    given = explicit_value("model", deployment.serving.environment, server) or ""
    return given if re.fullmatch(r"[\w.-]+/[\w.-]+", given) else deployment.model.id


def _derived(
    deployment: Deployment, version: EngineVersion, degree: int, *, needs_archive: bool
) -> dict[str, tuple[str, bool]]:
    """Return each variable's value, and whether `serving.environment` gives the same setting under any name."""
    serving, server = deployment.serving, engine(version.engine).server
    derived = {name: (value, False) for name, value in version.constants.items()}
    shape = known_shape(deployment.model.id, deployment.lock)
    if "HF_TASK" in derived and shape and shape.architecture in _TEXT_TO_TEXT:
        derived["HF_TASK"] = ("text2text-generation", False)
    if version.handler and not serving.handler:
        derived["OPTION_ENTRYPOINT"] = (version.handler, False)
    if serving.handler and not is_before(version.label, FIRST_ROLLING_BATCH):
        # Otherwise DJL Serving hands the model to its own rolling batch, from LMI 17 on to vLLM.
        derived["OPTION_ROLLING_BATCH"] = ("disable", False)
    settings = _settings(deployment, degree, needs_archive=needs_archive)
    for setting, variable in version.variables.items():
        word = _word(variable, settings.get(setting))
        if word is not None:
            is_explicit = explicit_value(setting, serving.environment, server) is not None
            derived |= dict.fromkeys((variable.name, *variable.also), (word, is_explicit))
    total = serving.max_model_len
    if version.engine == "tgi" and is_before(version.label, "3") and total:
        # Before 3.0 TGI ends at once unless input < total and prefill >= input.
        is_explicit = explicit_value("max_model_len", serving.environment, server) is not None
        is_explicit = is_explicit or "MAX_INPUT_TOKENS" in serving.environment
        derived["MAX_INPUT_LENGTH"] = (str(total - 1), is_explicit)
        derived["MAX_BATCH_PREFILL_TOKENS"] = (str(max(TGI_PREFILL, total)), is_explicit)
    # Each adapter variable has one name only, so one in `serving.environment` replaces it anyway.
    derived |= {name: (value, False) for name, value in adapter_variables(deployment, server).items()}
    derived |= {name: (value, False) for name, value in image_variables(deployment, server, version.label).items()}
    if serving.handler and deployment.model.weights:
        bucket, prefix = deployment.model.weights.removeprefix("s3://").split("/", 1)
        derived |= {"MODEL_S3_BUCKET": (bucket, False), "MODEL_S3_PREFIX": (prefix, False)}
    return derived


def _settings(deployment: Deployment, degree: int, *, needs_archive: bool) -> dict[str, object]:
    """Return values by the catalog's names of settings; None = there is nothing to set."""
    model, serving, hosting = deployment.model, deployment.serving, deployment.hosting
    is_async = hosting.queues_in_sagemaker
    return {
        "model": _source(deployment, needs_archive=needs_archive),
        "weights": model.weights if needs_archive and not serving.handler else None,
        "revision": None if model.weights else deployment.revision,
        "tensor_parallel_degree": serving.tensor_parallel_degree or degree,
        "max_model_len": serving.max_model_len,
        "max_batch_size": serving.max_batch_size,
        "max_batch_tokens": serving.max_batch_tokens,
        "max_batch_delay_in_ms": serving.max_batch_delay_in_ms,
        "task": model.task,
        "pooling": model.pooling,
        "dtype": model.dtype,
        "quantization": model.quantization,
        "startup_timeout_in_seconds": hosting.startup_timeout_in_seconds,
        "invocation_timeout_in_seconds": deployment.invocation_timeout_in_seconds if is_async else None,
        # Lets callers send the id that GET /endpoint shows as `model`; an own handler reads what it likes.
        "served_model_name": None if serving.handler else model.id,
        "hub_token": _token_reference(deployment),
    }


def _source(deployment: Deployment, *, needs_archive: bool) -> str | None:
    """Return the id on the Hub, or the folder of the weights; llama.cpp finds its file in that folder itself."""
    if deployment.model.weights is None:
        return deployment.model.id
    finds_it = engine(deployment.serving.engine).server == "llama-cpp"
    return None if needs_archive or finds_it else WEIGHTS_FOLDER


def _token_reference(deployment: Deployment) -> str | None:
    arn = deployment.model.hub_token_secret_arn
    return f"{{{{resolve:secretsmanager:{arn}}}}}" if arn and not deployment.model.weights else None


def _word(variable: Variable, value: object) -> str | None:
    if value is None:
        return None
    try:
        return variable.word_for(value)
    except KeyError:  # a rule refuses it
        return None


def _property(variable: str) -> str | None:
    if variable in _PROPERTIES:
        return _PROPERTIES[variable]
    if variable in _SERVER_VARIABLES:
        return None
    named = re.fullmatch(r"(OPTION|SERVING)_(\w+)", variable)
    if not named:
        return None
    return f"option.{named[2].lower()}" if named[1] == "OPTION" else named[2].lower()
