"""Rules over the model: engines and versions that run it, its files, its download."""

import re
from collections.abc import Iterator

from ...catalog.model_names import nearest_known, probably_meant
from ...catalog.versions import is_before
from ...deployment.finding import Finding
from ...resolution import Container, Resolution
from ...resolution.memory import GB, weights_in_files
from ...resolution.variables import VARIABLE_ALIASES
from .rule import error, note, unknown, warning

_OVERRIDES = ("OPTION_HF_OVERRIDES", "SM_VLLM_HF_OVERRIDES")  # of config.json, by vLLM
_STRETCHES = re.compile(r"LONG_MAX_MODEL_LEN|LONGER_CONTEXT_LEN|ROPE|OVERRIDES|MODEL_OVERRIDE_ARGS")
_PLAIN_ROPE = (None, "default", "llama3")  # whose context is max_position_embeddings
# Classes that do not generate text: vision, audio, embedding, classification.
_NOT_OF_TEXT = re.compile(
    r"^(XLM|Distil|Modern)?(Bert|Roberta|RoBERTa)\w*|^(MistralModel|Gemma3TextModel|Whisper\w*)|\w+For(\w+Classification|QuestionAnswering)"
)
_EMBEDDING_TASKS = {"djl": "text-embedding", "huggingface": "feature-extraction"}
_FIRST_SHARDS, _LARGEST_FILE_IN_GB = "4.18", 10  # release notes of transformers; the size of its shards
_ROUNDED = 0.02  # people round a size by up to 2 %
_HUB_IDS = ("HF_MODEL_ID", "OPTION_MODEL_ID", "SM_VLLM_MODEL", "SM_SGLANG_MODEL_PATH")


@error
def architecture_fits_engine(resolution: Resolution) -> Iterator[Finding]:
    """A version of an engine runs only the model architectures that it knows."""
    container = resolution.container
    reason = None if container.may_have_own_code else reason_against(container)
    if reason and container.shape:
        yield Finding(
            "serving.version" if " from " in reason else "serving.engine",
            f"{container.engine} {container.label} does not run {container.model_id} "
            f"({container.shape.architecture}): {reason}",
            "use another version or engine",
        )


@unknown
def model_is_known(resolution: Resolution) -> Iterator[Finding]:
    """A lock file, or the catalog's row of exactly this id, states the facts of a model; a similar name proves nothing.

    Without either, or without the size of its weights, the verdict is "not checked".
    """
    container, name = resolution.container, resolution.container.model_id
    if container.shape is None:
        yield _unknown_model(container)
    elif _has_packed_files(container):
        return
    elif container.parameters_in_billions is None:
        problem = f"is not known for {name}, so memory, disk and start-up are not checked"
        yield Finding("model.parameters_in_billions", problem, "set it")
    elif container.unknown_format:
        problem = f"{container.unknown_format!r} is a format of unknown size, so memory is not checked"
        yield Finding("model.quantization", problem, f"look at the files of {name}")


@unknown
def support_is_known(resolution: Resolution) -> Iterator[Finding]:
    """Engines run more architectures and formats than the catalog lists for them."""
    container, library, shape = resolution.container, resolution.container.library, resolution.container.shape
    if _has_packed_files(container):
        problem = f"the form of {container.packing!r} in the model's files is not in the catalog, so memory is "
        problem += f"estimated by the size of the files, and whether {container.engine} runs it is not checked"
        yield Finding("model.quantization", problem, f"look at the files of {container.model_id}")
    elif (reason := reason_against(container, as_newest=True)) and reason_against(container) is None:
        problem = f"needs another version at its newest commit ({reason}); whether this one needs it, too, is not known"
        yield Finding("model.revision", f"{container.model_id} {problem}", "use that version, or try this one")
    elif library and shape and shape.architecture not in library.known and reason is None:
        problem = f"whether {container.engine} runs {shape.architecture or 'a model that names no architecture'} is "
        problem += "not in the catalog"
        yield Finding("serving.engine", problem, "look it up in the engine's list of models")


def _has_packed_files(container: Container) -> bool:
    """Whether the lock finds a format that the catalog does not have, in files of known size."""
    return container.packing is not None and container.shape is not None and bool(container.shape.weights_in_gb)


def _unknown_model(container: Container) -> Finding:
    """Return the finding; the file may state size and format of the model, but neither layers nor architecture."""
    size, near = container.parameters_in_billions, nearest_known(container.model_id)
    kind = container.unknown_format or container.quantization or container.dtype or "16-bit"
    is_sized = size is not None and not container.unknown_format
    like = f"; its name resembles {near}, which proves nothing" if near else ""
    unchecked = "its context" if is_sized else "its weights, memory, context"
    taken = f"; its memory is estimated for {size:g} billion {kind} parameters" if is_sized else ""
    return Finding(
        "model.id",
        f"{container.model_id!r} has neither a lock nor a row in the catalog{like}; {unchecked} and whether "
        f"{container.engine} runs it are not checked{taken}",
        f"run `slipway lock <name>`, which asks the model itself{'' if size else ', or set its size'}",
    )


@warning
def model_id_is_spelt_right(resolution: Resolution) -> Iterator[Finding]:
    """A slip in the id names another repository, or none, so the model that was meant is not checked."""
    container = resolution.container
    meant = None if container.shape else probably_meant(container.model_id)
    if meant:
        problem = f"{container.model_id!r} is not in the catalog, and differs only by a slip from {meant}"
        yield Finding("model.id", problem, f"use {meant} if that is meant, or `slipway lock <name>`")


@warning
def settings_agree_with_lock(resolution: Resolution) -> Iterator[Finding]:
    """A size or format in the file wins over the model's own facts, so one that contradicts them is a mistake."""
    container, model = resolution.container, resolution.deployment.model
    if container.lock is None:
        return
    says = f"{{}} contradicts {container.lock.shape.source}, which says {{}}"
    size, given = container.lock.shape.parameters_in_billions, model.parameters_in_billions
    if size and given and abs(given - size) > _ROUNDED * size:
        yield Finding("model.parameters_in_billions", says.format(f"{given:g}", f"{size:g}"), "remove the setting")
    stored = container.stored_quantization or (container.packing or "").partition(" ")[0]  # "gptq with 8 bits"
    converts = container.engine == "tgi" and (model.quantization, stored) == ("gptq", "awq")  # for the faster kernels
    if stored and model.quantization not in (None, stored) and not converts:
        problem = says.format(model.quantization, stored)
        yield Finding("model.quantization", problem, "remove the setting, or name a repository in that format")


@error
def model_can_be_split(resolution: Resolution) -> Iterator[Finding]:
    """Some versions of engines run some models on one accelerator only."""
    container = resolution.container
    library, name = container.library, container.shape.architecture if container.shape else ""
    degree = max((placement.degree for placement in resolution.placements), default=1)
    if library and degree > 1 and (name in library.unsplit or container.is_left_to_transformers):
        problem = f"{degree} is refused: {container.engine} {container.label} does not split {name}"
        yield Finding("serving.tensor_parallel_degree", problem, "use 1, or a newer version")


@warning
def model_generates_text(resolution: Resolution) -> Iterator[Finding]:
    """Models for vision, audio, embeddings or classification do not answer with text."""
    container = resolution.container
    is_asked = resolution.deployment.model.task == "generate"
    named = _NOT_OF_TEXT.search(container.shape.architecture) if container.shape and is_asked else None
    if named and container.server not in ("huggingface", "own") and not _embeds(container):
        yield Finding(
            "model.id",
            f"{container.model_id!r} is a {named[0]}, which does not generate text",
            "use a model that does, or model.task: embed or rerank, or serving.engine: huggingface or custom",
        )


@error
def length_fits_model(resolution: Resolution) -> Iterator[Finding]:
    """vLLM and SGLang refuse a context longer than the model's own, unless told to stretch it; Neuron compiles none.

    SGLang: _derive_context_length in model_config.py, which computes another length than vLLM for some types of
    rope_scaling.
    """
    container = resolution.container
    context = container.shape.context if container.shape else None
    is_stretched = any(_STRETCHES.search(name) for name in container.environment)
    compares = container.runs_vllm or _is_bound_by_sglang(container)
    is_bound = (compares and not is_stretched) or container.engine in ("lmi-neuronx", "tgi-neuronx")
    if is_bound and context and (container.max_model_len or 0) > context:
        problem = f"{container.max_model_len:,} is more than the {context:,} tokens of {container.model_id}"
        yield Finding("serving.max_model_len", problem, f"use {context} or less")


@error
def files_fit_engine(resolution: Resolution) -> Iterator[Finding]:
    """Engines load the files that transformers saves; llama.cpp loads GGUF files only."""
    container = resolution.container
    if container.has_own_code:
        return
    yield from _gguf_files(container)
    name, engine = container.model_id, container.engine
    if container.stored_quantization == "bitsandbytes4" and engine == "tgi":
        yield Finding(
            "model.id",
            f"{name!r} holds weights packed by bitsandbytes, which TGI takes for plain ones",
            "use the model that they were made from, with model.quantization: bitsandbytes4",
        )
    transformers = container.version.transformers if container.version else None
    is_large = (weights_in_files(container) or 0) > _LARGEST_FILE_IN_GB * GB
    is_known = container.comes_from_hub and container.knows_commit
    if engine == "huggingface" and is_before(transformers, _FIRST_SHARDS) and is_known and is_large:
        yield Finding(
            "serving.version",
            f"transformers {transformers} of this image reads one file, but {name} comes in shards",
            f"use an image with {_FIRST_SHARDS} or newer",
        )


@warning
def gguf_needs_llama_cpp(resolution: Resolution) -> Iterator[Finding]:
    """vLLM loads one GGUF file with the tokenizer of the original model, but no repository of GGUF files."""
    container = resolution.container
    if container.stored_quantization == "gguf" and container.runs_vllm:
        yield Finding(
            "model.id",
            f"{container.model_id!r} holds GGUF files; vLLM takes a single file, with the original model's tokenizer",
            "use llama-cpp, or the model that they were made from",
        )


@error
def gated_model_needs_token(resolution: Resolution) -> Iterator[Finding]:
    """The Hub answers 401 for a gated model without a token, and the container ends."""
    container = resolution.container
    has_token = resolution.deployment.model.hub_token_secret_arn or container.explicit_value("hub_token") is not None
    if container.shape and container.shape.gated and container.comes_from_hub and not has_token:
        yield Finding(
            "model.hub_token_secret_arn",
            f"is missing, but {container.model_id} is gated on the Hub",
            "copy the weights to S3 once (`slipway stage <name>`) and set model.weights, or name the secret "
            "that holds a token",
        )


@note
def token_is_readable(resolution: Resolution) -> Iterator[Finding]:
    """A secret in a container's environment is plain text for everyone who may describe the model."""
    model = resolution.deployment.model
    is_given = model.hub_token_secret_arn is not None and model.weights is None
    if is_given and not resolution.deployment.hosting.runs_on_machines:  # a machine reads the secret itself
        yield Finding(
            "model.hub_token_secret_arn",
            "puts the token into the container's environment, readable for everyone who may describe the model",
            "stage the weights to S3 (`slipway stage <name>`), which needs no token",
        )


@warning
def weights_can_be_read(resolution: Resolution) -> Iterator[Finding]:
    """The endpoint's role may read `model.weights`, and no other prefix."""
    for name in VARIABLE_ALIASES["model"]:
        uri = resolution.deployment.serving.environment.get(name, "")
        if uri.startswith("s3://") and not uri.startswith(resolution.deployment.model.weights or "-"):
            problem = f"{uri!r} can't be read by the endpoint's role"
            yield Finding(f"serving.environment.{name}", problem, "set model.weights to it instead")


@error
def hub_id_is_no_address(resolution: Resolution) -> Iterator[Finding]:
    """Engines ask the Hub for owner/name; a web address is refused (huggingface_hub's HFValidationError)."""
    for name in _HUB_IDS:
        given = resolution.deployment.serving.environment.get(name, "")
        if given.startswith(("http://", "https://")):
            problem = f"{given!r} is an address, not owner/name"
            yield Finding(f"serving.environment.{name}", problem, "use model.id instead")


def _is_bound_by_sglang(container: Container) -> bool:
    """Whether SGLang compares with the same context; types of rope_scaling may be nested for layers with a window."""
    shape = container.shape
    return container.engine == "sglang" and shape is not None and not shape.sliding_window and shape.rope in _PLAIN_ROPE


def reason_against(container: Container, *, as_newest: bool = False) -> str | None:
    """Return why the computing library does not run the model; None = it does, or public facts do not say.

    as_newest: take the model at its newest commit, whatever the revision is.
    """
    library = container.library
    names_another = any("architectures" in container.environment.get(name, "") for name in _OVERRIDES)
    if container.shape is None or library is None or names_another or _embeds(container):
        return None
    # The needs of a model may have changed with its files: an older revision needs less.
    shape = container.shape
    needs = shape.needs if as_newest or container.is_newest else {}
    rope = shape.rope if container.knows_commit else None
    return library.reason_against(shape.architecture, needs, rope)


def _embeds(container: Container) -> bool:
    """Whether the container embeds: DJL Serving does so with other libraries, the toolkit with the encoder alone."""
    task = _EMBEDDING_TASKS.get(container.server)
    return task is not None and container.environment.get("HF_TASK", "").startswith(task)


def _gguf_files(container: Container) -> Iterator[Finding]:
    name, engine, shape = container.model_id, container.engine, container.shape
    if engine == "llama-cpp" and shape and shape.quantization != "gguf" and container.comes_from_hub:
        yield Finding(
            "model.id",
            f"{name!r} holds no GGUF files, and llama.cpp loads nothing else",
            "use a repository of GGUF files, and name the file in SM_LLAMA_CPP_HF_FILE",
        )
    if container.stored_quantization == "gguf" and engine not in ("llama-cpp", "custom") and not container.runs_vllm:
        yield Finding(
            "model.id",
            f"{name!r} holds GGUF files, which {engine} does not load",
            "use llama-cpp, or the model that they were made from",
        )
