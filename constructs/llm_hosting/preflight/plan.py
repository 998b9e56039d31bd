"""What will really run, per instance type: the deployment, the catalog's rows, the variables read back."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from ..catalog.architectures import Architectures, architectures
from ..catalog.engines import EngineVersion, engine, numbers
from ..catalog.instances import Instance, instances
from ..catalog.model_names import family_of, packing_in_name, quantization_in_name, shape_of, size_in_name
from ..catalog.models import ModelShape, model_shape
from ..container_settings import (
    NAMES,
    degree_of,
    derived_environment,
    image_version,
    is_read,
    needs_archive,
    parallel_devices,
)
from ..deployment import Deployment
from .formats import DTYPES, QUANTIZATIONS, normal

_KV_CACHE_TYPES = ("OPTION_KV_CACHE_DTYPE", "SM_VLLM_KV_CACHE_DTYPE")
_OWN_BRANCH = ("lmi-dist", "auto")  # which takes more models than vLLM
_PASSES_ALL_FROM = (0, 33)
_OF_VLLM_FROM = (0, 28)  # LMI's own branch, which was TGI's before
_VLLM_BY_ITSELF_FROM = (0, 33)  # in LMI; before, without a rolling batch, transformers computes
_TGI_SPLITS_ALL_FROM = (3,)  # by the plans that transformers has for tensor parallelism
_COUNT = re.compile(r"[0-9]{1,9}")
_LENGTH = re.compile(r"(\d{1,9}(?:\.\d{1,3})?)([kK]?)")
_PIPELINE = (
    "OPTION_PIPELINE_PARALLEL_DEGREE",
    "PIPELINE_PARALLEL_DEGREE",
    "SM_VLLM_PIPELINE_PARALLEL_SIZE",
    "SM_SGLANG_PP_SIZE",
)
_NUMBER = re.compile(r"[0-9]{1,9}(\.[0-9]{0,9})?|\.[0-9]{1,9}")


@dataclass(frozen=True)
class Plan:
    """One instance type of a deployment, as the container will find it."""

    deployment: Deployment
    instance: Instance

    @cached_property
    def version(self) -> EngineVersion | None:
        """The catalog's row of the image; None = an image that it does not know."""
        return image_version(self.deployment)

    @property
    def engine(self) -> str:
        """The engine's name; an own image of the catalog's is what it is, whatever `serving.engine` says."""
        return self.version.engine if self.version else self.deployment.serving.engine

    @property
    def server(self) -> str:
        """The kind of server in the container: djl, tgi, vllm, sglang, llama-cpp, huggingface or own."""
        return engine(self.engine).server

    @property
    def has_own_code(self) -> bool:
        """Whether code runs that did not come with the image: a handler of DJL Serving, a script of the toolkit."""
        if self.server == "huggingface":
            return bool(self.environment.get("SAGEMAKER_PROGRAM"))
        entry_point = self.deployment.serving.environment.get("OPTION_ENTRYPOINT", "djl_python.")
        return self.deployment.serving.handler is not None or not entry_point.startswith("djl_python.")

    @property
    def passes_options_on(self) -> bool:
        """Whether LMI hands to vLLM what it does not know itself."""
        return self.version is not None and numbers(self.version.label) >= _PASSES_ALL_FROM

    @property
    def may_have_own_code(self) -> bool:
        """Whether code may lie beside the weights, where the toolkit looks for it unasked (code/inference.py)."""
        return self.has_own_code or self.server == "own" or (self.server == "huggingface" and not self.comes_from_hub)

    @property
    def runs_vllm(self) -> bool:
        """Whether vLLM, or LMI's own branch of it, computes: by the engine, or by what DJL Serving is told."""
        rolling = self.environment.get("OPTION_ROLLING_BATCH", "")
        is_of_tgi = rolling == "lmi-dist" and numbers(self.version.label if self.version else "9") < _OF_VLLM_FROM
        if self.has_own_code or is_of_tgi:
            return False
        if self.engine == "lmi-vllm":
            by_itself = self.version is None or numbers(self.version.label) >= _VLLM_BY_ITSELF_FROM
            return rolling in ("", "vllm", "lmi-dist", "auto") or (rolling == "disable" and by_itself)
        return self.engine == "vllm" or (self.server == "djl" and rolling in ("vllm", "lmi-dist"))

    @property
    def vllm(self) -> str | None:
        """The version of vLLM that computes; None = none, or not stated."""
        return self.version.vllm if self.version and self.runs_vllm else None

    @cached_property
    def environment(self) -> dict[str, str]:
        """All that the container is told and reads, whether by its environment or by a serving.properties."""
        told = {**derived_environment(self.deployment), **self.deployment.serving.environment}
        return {name: value for name, value in told.items() if is_read(name, self.server)}

    def says_yes(self, *names: str) -> bool:
        """Whether one of these variables is true, as pydantic reads it; empty ones of vLLM's and SGLang's are flags."""
        yes = {"true", "1", "yes", "on"} | ({""} if self.server in ("vllm", "sglang") else set())
        return any(name in self.environment and self.environment[name].lower() in yes for name in names)

    def by_hand(self, setting: str) -> str | None:
        """The value of a variable, given by hand, that says what this setting says."""
        given = self.deployment.serving.environment
        return next((given[name] for name in NAMES[setting] if name in given and is_read(name, self.server)), None)

    @property
    def model_id(self) -> str:
        """The Hub id that the container loads."""
        given = self.by_hand("model") or ""
        return given if re.fullmatch(r"[\w.-]+/[\w.-]+", given) else self.deployment.model.id

    @property
    def revision(self) -> str | None:
        """Of the model on the Hub; None = the newest."""
        return self.by_hand("revision") or self.deployment.model.revision

    @property
    def runs_own_branch(self) -> bool:
        """Whether LMI is told to compute by its own branch: of TGI at first, of vLLM from 0.28 on."""
        return self.environment.get("OPTION_ROLLING_BATCH") in _OWN_BRANCH and self.instance.kind == "gpu"

    @property
    def library(self) -> Architectures | None:
        """The models that what computes can run; None = unknown."""
        version = self.version
        if version is None or self.runs_own_branch:
            return None
        handler = self.environment.get("OPTION_ENTRYPOINT", version.handler)
        if self.server == "djl" and not self.runs_vllm and handler != version.handler:
            return None  # another of the image's handlers, with a library of its own
        if self.runs_vllm and version.vllm:
            return architectures("vllm", version.vllm)
        return None if self.engine == "lmi-vllm" else version.architectures

    @property
    def is_left_to_transformers(self) -> bool:
        """Whether TGI has no code of its own for the model: such models it neither splits nor loads quantized."""
        library, name = self.library, self.shape.architecture if self.shape else ""
        if self.engine != "tgi" or library is None or numbers(library.version) >= _TGI_SPLITS_ALL_FROM:
            return False
        return bool(name) and (name in library.unsplit or name not in library.known | library.refused.keys())

    @property
    def comes_from_hub(self) -> bool:
        """Whether the container downloads the model from the Hub itself."""
        given = self.by_hand("model") or self.environment.get("MODEL_S3_BUCKET") or self.deployment.model.weights or ""
        return not given or given == self.model_id

    @property
    def sagemaker_downloads(self) -> bool:
        """Whether the weights are the model data, which SageMaker fetches before it starts the container."""
        deployment = self.deployment
        return deployment.model.weights is not None and not needs_archive(deployment)

    @cached_property
    def shape(self) -> ModelShape | None:
        """The catalog's row of the model, or of the one that its name holds."""
        return shape_of(self.model_id)

    @property
    def kin(self) -> ModelShape | None:
        """A model of the same architecture: the model itself, or one of the family that its name holds."""
        return self.shape or family_of(self.model_id)

    @cached_property
    def quantization(self) -> str | None:
        """How the weights are quantized in memory: as asked for, as the model's files are, or as its id says."""
        return self.asked_quantization or self.stored_quantization

    @cached_property
    def asked_quantization(self) -> str | None:
        """How the engine is told that they are quantized, or to quantize them; None = not, or in unknown words."""
        given = self.by_hand("quantization") or self.deployment.model.quantization
        if given == "bitsandbytes" and self.runs_vllm:
            return "bitsandbytes4"  # of which TGI makes eight bits
        if given:
            return normal(given, QUANTIZATIONS)
        if self.environment.get("OPTION_LOAD_IN_8BIT", "").lower() == "true":
            return "bitsandbytes8"
        if self.environment.get("OPTION_LOAD_IN_4BIT", "").lower() == "true":
            return "bitsandbytes4"
        return None

    @property
    def unknown_format(self) -> str | None:
        """The word for a quantization of which nothing is known; the size in memory isn't either, then."""
        given = self.by_hand("quantization") or ""
        if self.quantization or (given.lower() in ("", "none") and model_shape(self.model_id)):
            return None
        return given if given.lower() not in ("", "none") else packing_in_name(self.model_id)

    @cached_property
    def stored_quantization(self) -> str | None:
        """How the files of the model are quantized."""
        if self.shape:
            return self.shape.quantization
        return quantization_in_name(self.model_id)

    @cached_property
    def dtype(self) -> str | None:
        """The type that the engine computes in; None = nothing public says."""
        given = self.by_hand("dtype") or self.deployment.model.dtype
        return normal(given, DTYPES) if given else None

    @property
    def is_mixture(self) -> bool:
        """Whether the model is a mixture of experts."""
        return self.shape is not None and self.shape.active_parameters_in_billions is not None

    @property
    def kv_cache_type(self) -> str:
        """As vLLM is told it: `fp8`, `fp8_e5m2` and so on; empty = that of the model."""
        return self.environment.get(self.kv_cache_variable, "")

    @property
    def kv_cache_variable(self) -> str:
        """The variable that says so; empty = none."""
        return next((name for name in _KV_CACHE_TYPES if self.environment.get(name)), "")

    @property
    def degree(self) -> int:
        """Devices that share one copy of the model; an own image is taken to use all that it may."""
        given = self.by_hand("tensor_parallel_degree")
        if given:
            return max(1, int(given) if _COUNT.fullmatch(given) else self.devices)
        is_published = self.version is not None and self.version.tag is not None
        if self.version and is_published and "tensor_parallel_degree" not in self.version.variables:
            return 1
        return degree_of(self.deployment, self.instance)

    @property
    def stages(self) -> int:
        """Stages of pipeline parallelism, each on devices of its own; llama.cpp spreads layers over all, unasked."""
        spread = self.devices if self.server == "llama-cpp" and self.instance.kind == "gpu" else 1
        return max(1, int(self.number(*_PIPELINE) or spread))

    @property
    def shards(self) -> int:
        """Devices that one copy of the model lies on."""
        return self.degree * self.stages

    @property
    def devices(self) -> int:
        """Accelerators of the instance; on Neuron, their cores."""
        return parallel_devices(self.instance)

    @property
    def copies(self) -> int:
        """Copies of the model that one instance holds: devices / degree."""
        return max(1, self.devices // self.shards) if self.devices else 1

    @cached_property
    def max_model_len(self) -> int | None:
        """Tokens of prompt and answer together; None = the model's own context."""
        given = self.by_hand("max_model_len")
        if given:
            return _tokens(given)
        return self.deployment.serving.max_model_len

    @property
    def length_is_automatic(self) -> bool:
        """Whether the engine is asked to take what fits, or something that only it can read."""
        given = self.by_hand("max_model_len")
        return given is not None and _tokens(given) is None

    @property
    def batch(self) -> int | None:
        """Requests that the engine runs together, where something says."""
        given = self.by_hand("max_batch_size")
        if given:
            return int(given) if _COUNT.fullmatch(given) else None
        return self.deployment.serving.max_batch_size

    @cached_property
    def parameters_in_billions(self) -> float | None:
        """From the file, else the catalog, else what the id says (`-7b`, `-8x7b`)."""
        if self.deployment.model.parameters_in_billions:
            return self.deployment.model.parameters_in_billions
        if self.shape:
            return self.shape.parameters_in_billions
        return size_in_name(self.model_id)

    def number(self, *names: str) -> float | None:
        """The first of these variables that is a number, without infinity and the like."""
        given = (self.environment.get(name, "").strip() for name in names)
        return next((float(word) for word in given if _NUMBER.fullmatch(word)), None)


def container(deployment: Deployment) -> Plan:
    """What the rules look at that ask for engine and model only: they speak of a misspelt instance type's, too."""
    return next(plans(deployment), Plan(deployment, instances()["ml.g6.2xlarge"]))


def plans(deployment: Deployment) -> Iterator[Plan]:
    """One per instance type that the catalog knows."""
    for name in deployment.hosting.instance_types:
        if name in instances():
            yield Plan(deployment, instances()[name])


def _tokens(given: str) -> int | None:
    """vLLM takes `16384`, `16k` and `16K`: thousands, and 1,024s; None = `auto`, `-1` or no number."""
    named = _LENGTH.fullmatch(given)
    return int(float(named[1]) * {"": 1, "k": 1000, "K": 1024}[named[2]]) if named else None
