"""The stand-in for the container that the emulator names in SLIPWAY_LOCAL_ENGINE."""

from collections.abc import Callable, Mapping

from local_cloud.model_server.answer import StartError
from local_cloud.model_server.djl.own_handler import OwnHandler, handler_folder
from local_cloud.model_server.djl_handlers import built_in_handler
from local_cloud.model_server.djl_settings import effective_settings
from local_cloud.model_server.huggingface_toolkit import HuggingFaceToolkit
from local_cloud.model_server.language_model import LanguageModel
from local_cloud.model_server.llama_cpp_server import LlamaCppServer
from local_cloud.model_server.lmi import Lmi
from local_cloud.model_server.server import Engine
from local_cloud.model_server.sglang_server import SglangServer
from local_cloud.model_server.tgi import Tgi
from local_cloud.model_server.tgi_neuronx import TgiNeuronx
from local_cloud.model_server.vllm_server import VllmServer

# `lmi` stands in for containers that nobody knows, too.
_ENGINES: dict[str, Callable[[Mapping[str, str], LanguageModel], Engine]] = {
    "lmi": Lmi,
    "tgi": Tgi,
    "tgi-neuronx": TgiNeuronx,
    "vllm": VllmServer,
    "huggingface-vllm": VllmServer,
    "sglang": SglangServer,
    "llama-cpp": LlamaCppServer,
    "huggingface": HuggingFaceToolkit,
}


def make_engine(environment: Mapping[str, str], model: LanguageModel) -> Engine:
    """The engine, ready to answer; raises StartError for a configuration that it cannot start with."""
    name = environment.get("SLIPWAY_LOCAL_ENGINE", "lmi")
    if name.startswith("djl-"):
        return _djl_engine(environment, model)
    if name not in _ENGINES:
        raise StartError(f"SLIPWAY_LOCAL_ENGINE: {name!r} is not one of {', '.join(_ENGINES)}, djl-...")
    return _ENGINES[name](environment, model)


def _djl_engine(environment: Mapping[str, str], model: LanguageModel) -> Engine:
    if folder := handler_folder(environment):
        return OwnHandler(environment, folder)
    return built_in_handler(effective_settings(environment), model)
