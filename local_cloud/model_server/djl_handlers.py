"""Which built-in handler a DJL Serving image runs, and the stand-in for it.

Sources: deepjavalibrary/djl-serving, branches 0.19.0-dlc to 0.36.0-lmi27-dlc: PyModel.java (an entry point that is
given, else a model.py, else by engine; up to 0.21 there is no default), the modules in djl_python of each branch,
LmiUtils.java and LmiConfigRecommender.java (a rolling batch is the default for text generation since 0.27, unless
batches are dynamic), vllm_async_service.py (the default since 0.35).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from local_cloud.model_server.accelerate_handler import AccelerateHandler
from local_cloud.model_server.answer import StartError
from local_cloud.model_server.deepspeed_handler import DeepSpeedHandler
from local_cloud.model_server.djl_settings import tensor_parallel_degree, version_of, whole_number
from local_cloud.model_server.fastertransformer_handler import FasterTransformerHandler
from local_cloud.model_server.language_model import LanguageModel
from local_cloud.model_server.lmi import Lmi
from local_cloud.model_server.neuronx_handler import NeuronxHandler
from local_cloud.model_server.rolling_batch import RollingBatchHandler
from local_cloud.model_server.server import Engine
from local_cloud.model_server.weights import has_weights

Version = tuple[int, ...]
ALWAYS, NEVER = (0,), (99,)
DEFAULTS_SINCE, ASYNC_SINCE, ASYNC_DEFAULT_SINCE, ROLLING_SINCE = (0, 22), (0, 33), (0, 35), (0, 27)
ASYNC_SERVICE = "djl_python.lmi_vllm.vllm_async_service"


@dataclass(frozen=True)
class BuiltIn:
    """A module of djl_python: in which versions [since, until) it is, in which images what it imports is."""

    since: Version
    until: Version
    images: frozenset[str]
    imports: str


BUILT_INS = {
    "djl_python.deepspeed": BuiltIn(ALWAYS, (0, 28), frozenset({"deepspeed"}), "deepspeed"),
    "djl_python.huggingface": BuiltIn(
        ALWAYS, NEVER, frozenset({"deepspeed", "fastertransformer", "lmi", "cpu-full"}), "peft"
    ),
    "djl_python.fastertransformer": BuiltIn((0, 22), (0, 25), frozenset({"fastertransformer"}), "fastertransformer"),
    "djl_python.transformers-neuronx": BuiltIn((0, 22), (0, 24), frozenset({"neuronx"}), "transformers_neuronx"),
    "djl_python.transformers_neuronx": BuiltIn((0, 24), (0, 33), frozenset({"neuronx"}), "transformers_neuronx"),
    "djl_python.tensorrt_llm": BuiltIn((0, 25), (0, 34), frozenset({"tensorrtllm"}), "tensorrt_llm_toolkit"),
    ASYNC_SERVICE: BuiltIn(ASYNC_SINCE, NEVER, frozenset({"lmi"}), "vllm"),
}
# Engine names of serving.properties, and the versions [since, until) that have them.
ENGINES: dict[str, tuple[Version, Version]] = {
    "Python": (ALWAYS, NEVER),
    "DeepSpeed": (ALWAYS, (0, 28)),
    "FasterTransformer": ((0, 21), (0, 25)),
    "MPI": ((0, 22), NEVER),
}
EARLY_BATCHES = {"auto", "disable", "scheduler", "vllm", "lmi-dist", "deepspeed", "neuronx", "tnx", "trtllm"}
LATE_BATCHES = {"auto", "disable", "vllm", "tnx", "trtllm"}
LATE_BATCHES_SINCE = (0, 33)


def built_in_handler(settings: Mapping[str, str], model: LanguageModel) -> Engine:
    """The stand-in for the handler that these settings start; raises StartError in the container's words."""
    image, version = settings["SLIPWAY_LOCAL_ENGINE"].removeprefix("djl-"), version_of(settings)
    engine = settings.get("SERVING_ENGINE", "Python")
    since, until = ENGINES.get(engine, (NEVER, NEVER))
    if not since <= version < until:
        raise StartError(f"Invalid configuration: Deep learning engine not found: {engine}")
    tensor_parallel_degree(settings)
    name = settings.get("OPTION_ENTRYPOINT") or _default_name(settings, image, version, engine)
    _demand_module(name, image, version)
    if not (settings.get("OPTION_MODEL_ID") or has_weights(settings)):
        raise StartError("ModelNotFoundException: no model: HF_MODEL_ID is not set and /opt/ml/model is empty")
    if name == ASYNC_SERVICE:
        return Lmi(settings, model)
    backend = _rolling_batch(settings, name, version)
    return RollingBatchHandler(settings, model, backend=backend) if backend else _STAND_INS[name](settings, model)


def _default_name(settings: Mapping[str, str], image: str, version: Version, engine: str) -> str:
    if version < DEFAULTS_SINCE:
        raise StartError("FileNotFoundException: .py file not found in: /opt/ml/model")
    if image == "deepspeed" and engine == "DeepSpeed":
        return "djl_python.deepspeed"
    if image == "fastertransformer" and engine == "FasterTransformer":
        return "djl_python.fastertransformer"
    if image == "neuronx":
        return "djl_python.transformers-neuronx" if version < (0, 24) else "djl_python.transformers_neuronx"
    if image == "tensorrtllm":
        return "djl_python.tensorrt_llm"
    asynchronous = settings.get("OPTION_ASYNC_MODE", "true" if version >= ASYNC_DEFAULT_SINCE else "false") == "true"
    wants_rolling = settings.get("OPTION_ROLLING_BATCH", "disable") != "disable"
    if image == "lmi" and version >= ASYNC_SINCE and asynchronous and not wants_rolling:
        return ASYNC_SERVICE
    return "djl_python.huggingface"


def _demand_module(name: str, image: str, version: Version) -> None:
    known = BUILT_INS.get(name)
    if known is None or not known.since <= version < known.until:
        raise StartError(f"ModuleNotFoundError: No module named '{name}'")
    if image not in known.images:
        raise StartError(f"ModuleNotFoundError: No module named '{known.imports}'")


def _rolling_batch(settings: Mapping[str, str], name: str, version: Version) -> str | None:
    """What runs the rolling batch; None where the handler generates by itself."""
    given = settings.get("OPTION_ROLLING_BATCH")
    if given is not None and given not in (LATE_BATCHES if version >= LATE_BATCHES_SINCE else EARLY_BATCHES):
        raise StartError(f"ValueError: Invalid rolling batch type: {given}")
    if name == "djl_python.tensorrt_llm":
        return "trtllm"
    dynamic = whole_number(settings, "SERVING_BATCH_SIZE", 1) > 1
    default = "auto" if name == "djl_python.huggingface" and version >= ROLLING_SINCE else "disable"
    if dynamic or (given or default) == "disable":
        return None
    return "neuronx" if "neuronx" in name else "vllm"


_STAND_INS: dict[str, Callable[[Mapping[str, str], LanguageModel], Engine]] = {
    "djl_python.deepspeed": DeepSpeedHandler,
    "djl_python.huggingface": AccelerateHandler,
    "djl_python.fastertransformer": FasterTransformerHandler,
    "djl_python.transformers-neuronx": NeuronxHandler,
    "djl_python.transformers_neuronx": NeuronxHandler,
}
