"""How the deployment's settings reach the container: as its environment, or as the serving.properties of an archive."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from .catalog.engines import EngineVersion, Machine, Variable, engine, find_image, numbers
from .catalog.instances import Instance, instances
from .catalog.model_names import family_of, shape_of
from .catalog.models import ModelShape
from .deployment import Deployment, Hosting, Serving

WEIGHTS_FOLDER = "/opt/ml/model"  # where SageMaker puts model data
REALTIME_TIMEOUT_IN_SECONDS = 60  # SageMaker's own limit on a call of a real-time endpoint

# Names under which containers take one and the same setting (the entry points of LMI, TGI and AWS's vLLM and SGLang
# images map them): one that is set by hand keeps the one that we would derive away.
NAMES: dict[str, tuple[str, ...]] = {
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
        "HF_BATCH_SIZE",
        "SM_VLLM_MAX_NUM_SEQS",
        "SM_SGLANG_MAX_RUNNING_REQUESTS",
        "SM_LLAMA_CPP_PARALLEL",
        "SM_LLAMACPP_PARALLEL",
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
    "hub_token": ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "HUGGINGFACE_HUB_TOKEN"),
}
# Whose variables these are, by the kind of server; others are read by several.
_OWNERS = {"OPTION_": "djl", "SM_VLLM_": "vllm", "SM_SGLANG_": "sglang", "SM_LLAMA": "llama-cpp"}
_PROPERTIES = {
    "HF_MODEL_ID": "option.model_id",
    "HF_REVISION": "option.revision",
    "TENSOR_PARALLEL_DEGREE": "option.tensor_parallel_degree",
    "OPTION_ENTRYPOINT": "option.entryPoint",
}
_TEXT_TO_TEXT = {"T5ForConditionalGeneration", "BartForConditionalGeneration"}
FIRST_ROLLING_BATCH = (0, 23)  # version of DJL Serving
_FIRST_TGI_WITH_OWN_LIMITS = (3,)
TGI_INPUT, TGI_TOTAL, TGI_PREFILL = 1024, 2048, 4096  # TGI's defaults, in tokens, unless the model gives them
_SERVER_VARIABLES = {"SERVING_FAIL_FAST", "SERVING_LOAD_MODELS", "SERVING_OPTS"}  # of DJL Serving, not of one model


@dataclass(frozen=True)
class ContainerSettings:
    """`properties` are the lines of a serving.properties; None = no archive is needed."""

    environment: dict[str, str]
    properties: dict[str, str] | None


def container_settings(deployment: Deployment) -> ContainerSettings:
    """What the container gets: the derived settings, under those that the deployment gives by hand."""
    environment = {**derived_environment(deployment), **deployment.serving.environment}
    if not needs_archive(deployment):
        return ContainerSettings(environment, None)
    properties = properties_of(environment)
    if deployment.serving.handler:
        properties.setdefault("engine", "Python")
        properties.pop("option.entryPoint", None)  # DJL Serving takes the archive's model.py
    rest = {name: value for name, value in environment.items() if _property(name) is None}
    return ContainerSettings(rest, properties)


def properties_of(environment: Mapping[str, str]) -> dict[str, str]:
    """The lines of a serving.properties that say the same as these variables.

    DJL Serving reads OPTION_X as option.x and SERVING_X as x; a file wins over the environment.
    """
    named = ((_property(name), value) for name, value in sorted(environment.items()))
    return {name: value for name, value in named if name}


def needs_archive(deployment: Deployment) -> bool:
    """Whether model data must hold a handler, or settings that the container reads from a file only."""
    version = image_version(deployment)
    return deployment.serving.handler is not None or (version is not None and version.settings_in == "archive")


def image_version(deployment: Deployment) -> EngineVersion | None:
    """The catalog's row of the image; None for an image, or a version, that it does not know."""
    serving = deployment.serving
    if serving.image_uri:
        return find_image(serving.image_uri, serving.engine)
    return engine(serving.engine).version(serving.version, machine(deployment.hosting))


def machine(hosting: Hosting) -> Machine | None:
    """What images are made for, of the first instance type that the catalog knows."""
    known = next((instances()[name] for name in hosting.instance_types if name in instances()), None)
    return (known.kind, known.arch) if known else None


def degree_of(deployment: Deployment, instance: Instance | None) -> int:
    """Accelerators, or NeuronCores, that share one copy of the model.

    As said, else all of the instance: the most of them that the heads of the model divide into.
    """
    if deployment.serving.tensor_parallel_degree or instance is None:
        return deployment.serving.tensor_parallel_degree or 1
    devices, shape, version = (
        parallel_devices(instance),
        shape_of(deployment.model.id),
        image_version(deployment),
    )
    if shape and version and version.architectures and shape.architecture in version.architectures.unsplit:
        return 1
    pads = shape is None or instance.kind != "gpu"
    fitting = [n for n in range(1, devices + 1) if devices % n == 0 and (pads or heads_divide(shape, n))]
    return max(fitting, default=1)


def heads_divide(shape: ModelShape | None, degree: int) -> bool:
    """Whether each of so many accelerators gets as many heads; key and value heads may also be copied evenly."""
    heads = (shape.heads if shape else None) or 0
    groups = (shape.kv_heads if shape else None) or heads
    return heads % degree == 0 and (groups % degree == 0 or (0 < groups < degree and degree % groups == 0))


def parallel_devices(instance: Instance) -> int:
    """What a tensor parallel degree counts: accelerators, on Neuron their cores; 0 on CPU types."""
    return (instance.neuron_cores if instance.kind == "neuron" else instance.accelerator_count) or 0


def invocation_timeout_in_seconds(deployment: Deployment) -> int:
    """How long the model may take for one job."""
    if deployment.hosting.mode == "realtime":
        return REALTIME_TIMEOUT_IN_SECONDS
    return deployment.jobs.invocation_timeout_in_seconds


def derived_environment(deployment: Deployment) -> dict[str, str]:
    """The container's variables that follow from other settings, but for those given by hand under any name."""
    serving = deployment.serving
    version = image_version(deployment) or engine(serving.engine).default(machine(deployment.hosting))
    settings = _settings(deployment)
    derived = dict(version.constants)
    kin = shape_of(deployment.model.id) or family_of(deployment.model.id)
    if "HF_TASK" in derived and kin and kin.architecture in _TEXT_TO_TEXT:
        derived["HF_TASK"] = "text2text-generation"
    if version.handler and not serving.handler:
        derived["OPTION_ENTRYPOINT"] = version.handler
    if serving.handler and numbers(version.label) >= FIRST_ROLLING_BATCH:
        # Or DJL Serving would hand the model to its own rolling batch, from LMI 17 on to vLLM.
        derived["OPTION_ROLLING_BATCH"] = "disable"
    for setting, variable in version.variables.items():
        value = settings.get(setting)
        word = None if value is None or _by_hand(setting, serving, version) else _word(variable, value)
        if word is not None:
            derived |= dict.fromkeys((variable.name, *variable.also), word)
    total = None if _by_hand("max_model_len", serving, version) else serving.max_model_len
    is_old_tgi = version.engine == "tgi" and numbers(version.label) < _FIRST_TGI_WITH_OWN_LIMITS
    if is_old_tgi and total and "MAX_INPUT_TOKENS" not in serving.environment:
        # Before 3.0 TGI ends at once unless input < total and prefill >= input.
        derived["MAX_INPUT_LENGTH"] = str(total - 1)
        derived["MAX_BATCH_PREFILL_TOKENS"] = str(max(TGI_PREFILL, total))
    if serving.handler and deployment.model.weights:
        bucket, prefix = deployment.model.weights.removeprefix("s3://").split("/", 1)
        derived |= {"MODEL_S3_BUCKET": bucket, "MODEL_S3_PREFIX": prefix}
    return derived


def _settings(deployment: Deployment) -> dict[str, object]:
    """Values by the catalog's names of settings; None = nothing to say."""
    model, serving, hosting = deployment.model, deployment.serving, deployment.hosting
    known = [instances()[name] for name in hosting.instance_types if name in instances()]
    smallest = min(known, key=parallel_devices, default=None)
    is_async = hosting.mode == "async"
    archive = needs_archive(deployment)
    return {
        "model": _source(deployment, archive),
        "weights": model.weights if archive and not serving.handler else None,
        "revision": None if model.weights else model.revision,
        "tensor_parallel_degree": degree_of(deployment, smallest),
        "max_model_len": serving.max_model_len,
        "max_batch_size": serving.max_batch_size,
        "max_batch_delay_in_ms": serving.max_batch_delay_in_ms,
        "dtype": model.dtype,
        "quantization": model.quantization,
        "startup_timeout_in_seconds": hosting.startup_timeout_in_seconds,
        "invocation_timeout_in_seconds": invocation_timeout_in_seconds(deployment) if is_async else None,
        "hub_token": _token_reference(deployment),
    }


def _source(deployment: Deployment, archive: bool) -> str | None:
    """The id on the Hub, or the folder of the weights; llama.cpp finds its file there by itself."""
    if deployment.model.weights is None:
        return deployment.model.id
    finds_it = engine(deployment.serving.engine).server == "llama-cpp"
    return None if archive or finds_it else WEIGHTS_FOLDER


def _token_reference(deployment: Deployment) -> str | None:
    arn = deployment.model.hub_token_secret_arn
    return f"{{{{resolve:secretsmanager:{arn}}}}}" if arn and not deployment.model.weights else None


def _word(variable: Variable, value: object) -> str | None:
    try:
        return variable.word_for(value)
    except KeyError:  # a rule refuses it
        return None


def is_read(variable: str, server: str) -> bool:
    """Whether a kind of server knows this variable at all; of one's own, everything is believed."""
    owner = next((owner for prefix, owner in _OWNERS.items() if variable.startswith(prefix)), server)
    return server in (owner, "own")


def _by_hand(setting: str, serving: Serving, version: EngineVersion) -> bool:
    server = engine(version.engine).server
    return any(name in serving.environment and is_read(name, server) for name in NAMES.get(setting, ()))


def _property(variable: str) -> str | None:
    if variable in _PROPERTIES:
        return _PROPERTIES[variable]
    if variable in _SERVER_VARIABLES:
        return None
    named = re.fullmatch(r"(OPTION|SERVING)_(\w+)", variable)
    if not named:
        return None
    return f"option.{named[2].lower()}" if named[1] == "OPTION" else named[2].lower()
