"""The container of a deployment: engine and version, the variables it reads, the model it loads."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from ..catalog.architectures import Architectures, architectures
from ..catalog.engines import EngineVersion, Platform, engine
from ..catalog.models import ModelShape
from ..catalog.versions import is_before
from ..deployment.lock import ModelLock
from ..deployment.model import Deployment
from .formats import DTYPES, PACKED_BEFORE, QUANTIZATIONS, normal
from .image import needs_archive
from .known_model import known_shape
from .variables import VARIABLE_ALIASES, WEIGHTS_FOLDER, explicit_value, model_id_of

_KV_CACHE_TYPES = ("OPTION_KV_CACHE_DTYPE", "SM_VLLM_KV_CACHE_DTYPE")
_OWN_BRANCH = ("lmi-dist", "auto")  # these take more models than vLLM
_PASSES_ALL_FROM = "0.33"  # from here on LMI passes options that it does not know to vLLM
_OWN_BRANCH_OF_VLLM_FROM = "0.28"  # LMI's own branch is one of vLLM from here on, and was one of TGI before
_VLLM_BY_ITSELF_FROM = "0.33"  # in LMI; without a rolling batch transformers computed before
_VLLM_IN_LMI = "djl_python.lmi_vllm.vllm_async_service"
_NAME_IN_LMI = "lmi"  # the name under which it serves by default
_TGI_SPLITS_ALL_FROM = "3"  # by transformers' own plans for tensor parallelism
_NEWEST = (None, "main")  # revisions on the Hub
_TEXTS_OF_TEI = 32  # its own MAX_CLIENT_BATCH_SIZE
COUNT = re.compile(r"[0-9]{1,9}")
_LENGTH = re.compile(r"(\d{1,9}(?:\.\d{1,3})?)([kK]?)")
_NUMBER = re.compile(r"[0-9]{1,9}(\.[0-9]{0,9})?|\.[0-9]{1,9}")


@dataclass(frozen=True)
class Container:
    """Facts that hold on every instance type of the deployment.

    version: the catalog's row of the image; None = the catalog does not know the image.
    platform: the kind of the first known instance type.
    environment: derived and explicit variables that this kind of server reads, from its environment or from a
    serving.properties.
    """

    deployment: Deployment
    version: EngineVersion | None
    platform: Platform
    environment: Mapping[str, str]

    @property
    def engine(self) -> str:
        """The engine of the image; `serving.engine` for an image that the catalog does not know."""
        return self.version.engine if self.version else self.deployment.serving.engine

    @property
    def label(self) -> str | None:
        """The engine's version; None = not known."""
        return self.version.label if self.version else None

    @property
    def server(self) -> str:
        """The kind of server in the container: djl, tgi, vllm, sglang, llama-cpp, huggingface or own."""
        return engine(self.engine).server

    @property
    def has_own_code(self) -> bool:
        """Whether code runs that is not part of the image: a handler of DJL Serving, or a script of the toolkit."""
        if self.server == "huggingface":
            return bool(self.environment.get("SAGEMAKER_PROGRAM"))
        entry_point = self.deployment.serving.environment.get("OPTION_ENTRYPOINT", "djl_python.")
        return self.deployment.serving.handler is not None or not entry_point.startswith("djl_python.")

    @property
    def may_have_own_code(self) -> bool:
        """Whether code may lie beside the weights, where the toolkit looks for it by default (code/inference.py)."""
        return self.has_own_code or self.server == "own" or (self.server == "huggingface" and not self.comes_from_hub)

    @property
    def passes_options_on(self) -> bool:
        """Whether LMI passes options that it does not know to vLLM."""
        return self.version is not None and not is_before(self.label, _PASSES_ALL_FROM)

    @property
    def runs_own_branch(self) -> bool:
        """Whether LMI is told to compute with its own branch: of TGI first, of vLLM from 0.28 on, none from 0.33 on."""
        is_told = self.environment.get("OPTION_ROLLING_BATCH") in _OWN_BRANCH and self.platform == "gpu"
        return is_told and not self.passes_options_on

    @property
    def runs_vllm(self) -> bool:
        """Whether vLLM, or LMI's own branch of it, computes: because of the engine, or of DJL Serving's settings."""
        rolling = self.environment.get("OPTION_ROLLING_BATCH", "")
        is_of_tgi = rolling == "lmi-dist" and is_before(self.label, _OWN_BRANCH_OF_VLLM_FROM)
        if self.has_own_code or is_of_tgi:
            return False
        if self.engine == "lmi-vllm":
            by_itself = not is_before(self.label, _VLLM_BY_ITSELF_FROM)
            return rolling in ("", "vllm", "lmi-dist", "auto") or (rolling == "disable" and by_itself)
        return self.engine == "vllm" or (self.server == "djl" and rolling in ("vllm", "lmi-dist"))

    @property
    def has_vllm_front_end(self) -> bool:
        """Whether vLLM itself checks requests: the name in `model`, and the tokens of prompt and answer together.

        With a rolling batch LMI checks them in its own way; in asynchronous mode it leaves that to vLLM.
        """
        by_itself = (
            self.environment.get("OPTION_ROLLING_BATCH", "disable") in ("", "disable")
            and self.environment.get("OPTION_ENTRYPOINT", _VLLM_IN_LMI) == _VLLM_IN_LMI
            and self.environment.get("OPTION_ASYNC_MODE", "true").lower() == "true"
        )
        return self.runs_vllm and (self.server == "vllm" or by_itself)

    @property
    def model_aliases(self) -> tuple[str, ...]:
        """Names that a client may use for the model and that the container refuses, because it serves another name."""
        if not self.has_vllm_front_end:
            return ()  # other servers take any name
        own_name = _NAME_IN_LMI if self.server == "djl" else self.environment.get("SM_VLLM_MODEL", WEIGHTS_FOLDER)
        served = self.told_name or own_name
        return tuple(name for name in (self.deployment.model.id, own_name) if name != served)

    @property
    def told_name(self) -> str | None:
        """The name under which variables tell the server to serve the model; None = they name none."""
        told = (self.environment.get(name) for name in VARIABLE_ALIASES["served_model_name"])
        return next(filter(None, told), None)

    @property
    def model_names(self) -> tuple[str, ...]:
        """Names for the model, besides its id, that a caller may use."""
        names = dict.fromkeys((*self.model_aliases, self.told_name))
        return tuple(name for name in names if name and name != self.deployment.model.id)

    @property
    def openai_kind(self) -> str:
        """The server's row in catalog/openai_api.json."""
        if self.server == "huggingface" or (self.server == "djl" and self.deployment.serving.handler):
            return "plain"
        if self.server != "djl":
            return self.server
        if self.has_vllm_front_end:
            return "vllm"
        return "plain" if self.environment.get("OPTION_ROLLING_BATCH", "disable") == "disable" else "rolling-batch"

    @property
    def task_form(self) -> str:
        """The form of the requests for the model's task, if that is not text; empty = the image can't do it."""
        serving = self.deployment.serving
        version = self.version or engine(serving.engine).default()
        return "" if serving.handler else version.tasks.get(self.deployment.model.task, "")

    @property
    def most_texts(self) -> int:
        """Most texts in a request for vectors or scores; 0 = any number."""
        return int(self.number("MAX_CLIENT_BATCH_SIZE") or _TEXTS_OF_TEI) if self.server == "tei" else 0

    @property
    def longest_answer(self) -> int | None:
        """Most tokens of an answer, to the shortest prompt, that the container accepts; None = not known."""
        cuts = self.flag("SM_SGLANG_ALLOW_AUTO_TRUNCATE")
        refuses = self.has_vllm_front_end or self.server == "tgi" or (self.server == "sglang" and not cuts)
        known = self.version is not None and refuses
        return self.max_model_len - 1 if known and self.max_model_len else None

    @property
    def vllm(self) -> str | None:
        """The version of vLLM that computes; None = vLLM does not compute, or the version is not stated."""
        return self.version.vllm if self.version and self.runs_vllm else None

    @cached_property
    def library(self) -> Architectures | None:
        """The models that the computing library runs; None = not known."""
        version = self.version
        if version is None or self.runs_own_branch:
            return None
        handler = self.environment.get("OPTION_ENTRYPOINT", version.handler)
        if self.server == "djl" and not self.runs_vllm and handler != version.handler:
            return None  # another handler of the image, with its own library
        if self.runs_vllm and version.vllm:
            return architectures("vllm", version.vllm)
        return None if self.engine == "lmi-vllm" else version.architectures

    @property
    def is_left_to_transformers(self) -> bool:
        """Whether TGI has no code of its own for the model, so that it neither splits it nor loads it quantized."""
        library, name = self.library, self.shape.architecture if self.shape else ""
        if self.engine != "tgi" or library is None or not is_before(library.version, _TGI_SPLITS_ALL_FROM):
            return False
        return bool(name) and (name in library.unsplit or name not in library.known | library.refused.keys())

    def explicit_value(self, setting: str) -> str | None:
        """Return the value of an environment variable of the deployment file for this setting; None = there is none."""
        return explicit_value(setting, self.deployment.serving.environment, self.server)

    def flag(self, *names: str) -> bool:
        """Whether one of these variables is true, as pydantic reads it; for vLLM and SGLang an empty one is true."""
        true = {"true", "1", "yes", "on"} | ({""} if self.server in ("vllm", "sglang") else set())
        return any(name in self.environment and self.environment[name].lower() in true for name in names)

    def number(self, *names: str) -> float | None:
        """Return the first of these variables that is a finite number."""
        given = (self.environment.get(name, "").strip() for name in names)
        return next((float(word) for word in given if _NUMBER.fullmatch(word)), None)

    @cached_property
    def model_id(self) -> str:
        """The Hub id that the container loads."""
        return model_id_of(self.deployment, self.server)

    @property
    def revision(self) -> str | None:
        """The model's revision on the Hub; None = the newest."""
        return self.explicit_value("revision") or self.deployment.model.revision

    @property
    def comes_from_hub(self) -> bool:
        """Whether the container downloads the model from the Hub itself."""
        bucket = self.environment.get("MODEL_S3_BUCKET")
        given = self.explicit_value("model") or bucket or self.deployment.model.weights or ""
        return not given or given == self.model_id

    @property
    def sagemaker_downloads(self) -> bool:
        """Whether the weights are the model data, which SageMaker fetches before it starts the container."""
        deployment = self.deployment
        has_model_data = not deployment.hosting.runs_on_machines and deployment.model.weights is not None
        return has_model_data and not needs_archive(deployment.serving, self.version)

    @cached_property
    def shape(self) -> ModelShape | None:
        """The facts of the lock file and of the catalog's row of exactly this id; None = not known."""
        return known_shape(self.model_id, self.lock)

    @property
    def lock(self) -> ModelLock | None:
        """The lock of the model that the container loads; None = there is none."""
        lock = self.deployment.lock
        return lock if lock and lock.model_id == self.model_id and self.explicit_value("revision") is None else None

    @property
    def packing(self) -> str | None:
        """The lock's word for a quantization that neither it nor the catalog knows; None = the format is known."""
        is_known = self.shape is not None and self.shape.quantization is not None
        return self.lock.packing if self.lock and not is_known else None

    @property
    def knows_commit(self) -> bool:
        """Whether the facts belong to the commit that is loaded; the catalog has the facts of the newest commit."""
        return bool(self.lock) or self.revision in _NEWEST

    @property
    def is_newest(self) -> bool:
        """Whether the newest commit is loaded, to which the versions belong that the catalog says the model needs."""
        return (self.lock.revision if self.lock else self.revision) in _NEWEST

    @property
    def is_mixture(self) -> bool:
        """Whether the model is a mixture of experts."""
        return self.shape is not None and bool(self.shape.active_parameters_in_billions or self.shape.experts)

    @cached_property
    def parameters_in_billions(self) -> float | None:
        """The model's size, from the deployment file or, if it states none, from the shape."""
        given = self.deployment.model.parameters_in_billions
        return given or (self.shape.parameters_in_billions if self.shape else None)

    @property
    def quantization(self) -> str | None:
        """Format of the weights in memory: the requested one, otherwise that of the files."""
        return self.asked_quantization or self.stored_quantization

    @cached_property
    def asked_quantization(self) -> str | None:
        """The format that the file requests of the engine; None = none, or an unknown word."""
        given = self.explicit_value("quantization") or self.deployment.model.quantization
        if given == "bitsandbytes" and self.runs_vllm:
            return "bitsandbytes4"  # TGI reads this word as eight bits
        if given:
            return normal(given, QUANTIZATIONS)
        if self.environment.get("OPTION_LOAD_IN_8BIT", "").lower() == "true":
            return "bitsandbytes8"
        if self.environment.get("OPTION_LOAD_IN_4BIT", "").lower() == "true":
            return "bitsandbytes4"
        return None

    @cached_property
    def stored_quantization(self) -> str | None:
        """Format of the model's files; None = not quantized, or not known.

        For an unknown model this is the requested format, if only files that already have the format load with it.
        """
        if self.shape:
            return self.shape.quantization
        asked = self.asked_quantization
        is_made = self.engine == "lmi-tensorrt-llm" and asked == "awq"  # the engine makes such weights itself
        return asked if asked in PACKED_BEFORE and not is_made else None

    @property
    def unknown_format(self) -> str | None:
        """The word for a quantization of unknown size; None = the size is known."""
        given = self.explicit_value("quantization") or ""
        if self.packing:
            return self.packing
        return None if self.quantization or given.lower() in ("", "none") else given

    @cached_property
    def dtype(self) -> str | None:
        """The number format in which the engine computes; None = not stated."""
        given = self.explicit_value("dtype") or self.deployment.model.dtype
        return normal(given, DTYPES) if given else None

    @property
    def kv_cache_variable(self) -> str:
        """The variable that sets the KV cache's type; empty = none."""
        return next((name for name in _KV_CACHE_TYPES if self.environment.get(name)), "")

    @property
    def kv_cache_type(self) -> str:
        """The KV cache's type in vLLM's words, such as `fp8` or `fp8_e5m2`; empty = the model's type."""
        return self.environment.get(self.kv_cache_variable, "")

    @cached_property
    def max_model_len(self) -> int | None:
        """Most tokens of prompt and answer together; None = the model's own context."""
        given = self.explicit_value("max_model_len")
        return _tokens(given) if given else self.deployment.serving.max_model_len

    @property
    def length_is_automatic(self) -> bool:
        """Whether the engine is told to take the length that fits, or one that only it can read."""
        given = self.explicit_value("max_model_len")
        return given is not None and _tokens(given) is None

    @property
    def context(self) -> int | None:
        """Tokens that one request may have; None = not known."""
        return self.max_model_len or (self.shape.context if self.shape else None)

    @property
    def max_batch_size(self) -> int | None:
        """Requests that the engine runs together; None = not stated."""
        given = self.explicit_value("max_batch_size")
        if given:
            return int(given) if COUNT.fullmatch(given) else None
        return self.deployment.serving.max_batch_size


def _tokens(given: str) -> int | None:
    """Return the number in vLLM's spelling: `16k` is 16,000, `16K` is 16 x 1,024; None = `auto`, `-1` or no number."""
    named = _LENGTH.fullmatch(given)
    return int(float(named[1]) * {"": 1, "k": 1000, "K": 1024}[named[2]]) if named else None
