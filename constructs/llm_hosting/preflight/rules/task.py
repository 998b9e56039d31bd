"""Rules over models that make vectors or scores: engine, model, pooling, batches."""

from collections.abc import Iterator

from ...catalog.engines import ENGINES, engine
from ...catalog.instances import AMPERE
from ...catalog.tei_models import tei_models
from ...catalog.versions import is_before
from ...deployment.finding import Finding
from ...resolution import Container, Resolution
from ...resolution.encoder_memory import attention_in_bytes, batch_tokens, step_in_bytes
from ...resolution.memory import in_gb, type_in_memory
from .rule import error, warning
from .suitable_type import SUCH_AS

_GENERATES = ("ForCausalLM", "ForConditionalGeneration")


@error
def engine_does_task(resolution: Resolution) -> Iterator[Finding]:
    """Some engines generate text only, others make vectors and scores only; a handler of your own generates text."""
    container, task = resolution.container, resolution.deployment.model.task
    named = container.deployment.serving.engine
    if task == "generate" and not resolution.bodies:
        does = " or ".join(engine(named).default().tasks)
        yield Finding("model.task", f"{named} does not generate text", f"use {does}, or another engine")
    if task == "generate" or container.task_form:
        return
    if container.deployment.serving.handler:
        yield Finding("serving.handler", f"is refused with model.task: {task}", "remove it")
        return
    others = [name for name in ENGINES if task in engine(name).default().tasks and name != "custom"]
    engines = f"serving.engine: {', '.join(others)}"
    makes = {"embed": "makes no vectors", "rerank": "scores no texts"}[task]
    yield Finding(
        "model.task",
        f"{task} is refused: {container.engine} {container.label or 'of this image'} {makes}",
        f"use {'a newer serving.version' if container.engine in others else engines}",
    )


@error
def head_fits_task(resolution: Resolution) -> Iterator[Finding]:
    """Scores come from a classifier with one label; engines choose vectors or scores by the model's class.

    Source: get_backend_model_type in text-embeddings-inference's router.
    """
    container, task = resolution.container, resolution.deployment.model.task
    shape = container.shape
    is_overridden = any(name.endswith("HF_OVERRIDES") for name in container.environment)
    if task == "generate" or shape is None or not shape.architecture or is_overridden or container.server == "own":
        return
    is_classifier = shape.architecture.endswith("Classification")
    if task == "embed" and is_classifier:
        yield Finding(
            "model.task",
            f"embed is refused: {container.model_id} ({shape.architecture}) gives labels or scores",
            "use rerank, or an embedding model",
        )
    if task == "rerank" and not (is_classifier and shape.labels in (None, 1)):
        has = f"has {shape.labels} labels" if is_classifier else f"({shape.architecture}) has no classifier head"
        yield Finding("model.task", f"rerank is refused: {container.model_id} {has}", "use a model that scores texts")


@warning
def model_makes_vectors(resolution: Resolution) -> Iterator[Finding]:
    """A model that was trained to generate text makes vectors that tell little about what texts mean."""
    container, model = resolution.container, resolution.deployment.model
    shape = container.shape
    is_made_for_text = shape is not None and shape.architecture.endswith(_GENERATES) and shape.pooling is None
    if model.task == "embed" and is_made_for_text and not model.pooling and container.server != "own":
        yield Finding(
            "model.task",
            f"{container.model_id} is a model for text, whose files name no pooling",
            "use an embedding model, or set model.pooling if it is one",
        )


@error
def pooling_is_known(resolution: Resolution) -> Iterator[Finding]:
    """Text Embeddings Inference ends if neither the files nor the setting name the pooling, except for BERT's kin."""
    container = resolution.container
    lock, given = container.lock, container.explicit_value("pooling") or resolution.deployment.model.pooling
    is_asked = container.server == "tei" and resolution.deployment.model.task == "embed"
    if not is_asked or lock is None or given or lock.shape.pooling or "bert" in (lock.shape.model_type or "bert"):
        return
    problem = f"is missing: the files of {container.model_id} (1_Pooling/config.json) do not name it"
    yield Finding("model.pooling", problem, "use the one that the model was trained with")


@warning
def pooling_is_the_models(resolution: Resolution) -> Iterator[Finding]:
    """A model that was trained with one pooling makes poor vectors with another."""
    given, shape = resolution.deployment.model.pooling, resolution.container.shape
    if given and shape and shape.pooling and shape.pooling != given:
        problem = f"{given!r} is not the pooling of {resolution.container.model_id}, which is {shape.pooling}"
        yield Finding("model.pooling", problem, "remove it")


@error
def tei_computes_model(resolution: Resolution) -> Iterator[Finding]:
    """Text Embeddings Inference computes the model_types that it knows; a CPU also what the files have as ONNX."""
    container = resolution.container
    shape, label = container.shape, container.label
    if container.server != "tei" or shape is None or not shape.model_type or _has_onnx(container):
        return
    since = tei_models().since.get(shape.model_type)
    if since is None:
        problem = f"tei does not compute {container.model_id} (model_type {shape.model_type})"
        yield Finding("serving.engine", problem, "use vllm or lmi-vllm, or another model")
    elif label and is_before(label, since):
        problem = f"tei {label} does not compute {container.model_id} (model_type {shape.model_type})"
        yield Finding("serving.version", f"{problem}: {since} is the first that does", "use a newer version")


@error
def tei_computes_format(resolution: Resolution) -> Iterator[Finding]:
    """Text Embeddings Inference computes some models with flash attention in 16 bits only, others in 32 bits only."""
    container, shape = resolution.container, resolution.container.shape
    if container.server != "tei" or shape is None or _has_onnx(container):
        return
    if shape.model_type in tei_models().fp32_only and container.dtype not in (None, "fp32"):
        yield Finding(
            "model.dtype", f"{container.dtype} is refused: tei computes {shape.model_type} in fp32 only", "remove it"
        )
    if shape.model_type not in tei_models().flash_attention_only:
        return
    if container.dtype == "fp32" and container.platform == "gpu":
        yield Finding("model.dtype", f"fp32 is refused: tei computes {shape.model_type} in fp16 only", "remove it")
    for instance in (placement.instance for placement in resolution.placements):
        if instance.kind == "cpu" or (instance.compute_capability or AMPERE) < AMPERE:
            has = f"has {instance.accelerator} GPUs" if instance.accelerator else "has no GPU"
            yield Finding(
                "hosting.instance_type",
                f"{instance.type!r} {has}; tei computes {shape.model_type} with flash attention only, which needs "
                "compute capability 8.0",
                f"use a type with newer GPUs{SUCH_AS}",
            )


@error
def batch_holds_longest_text(resolution: Resolution) -> Iterator[Finding]:
    """An engine that computes a text in one step ends at its start if a step can't hold the longest one.

    Text Embeddings Inference cuts texts instead if AUTO_TRUNCATE is true, and callers are not told.
    """
    container, shape = resolution.container, resolution.container.shape
    longest = container.context or 0
    cuts = container.environment.get("AUTO_TRUNCATE") != "false"
    if resolution.makes_text or container.server != "tei" or shape is None or cuts:
        return
    tokens = batch_tokens(container)
    if tokens < longest:
        is_set = resolution.deployment.serving.max_batch_tokens or container.explicit_value("max_batch_tokens")
        given = f"{tokens:,}" if is_set else f"is not set, so {tokens:,}, which"
        problem = f"{given} is less than the {longest:,} tokens of the longest text of {container.model_id}"
        yield Finding("serving.max_batch_tokens", problem, f"use {longest} or more")


@warning
def batch_fits_memory(resolution: Resolution) -> Iterator[Finding]:
    """Text Embeddings Inference computes a batch of the longest texts at its start, and ends without the memory.

    Without flash attention (16 bits on Ampere or newer), attention takes the square of a text's length.
    """
    container = resolution.container
    for placement in resolution.placements if container.server == "tei" else ():
        kind = type_in_memory(container, placement.instance)
        attention = attention_in_bytes(container, placement.instance, kind)
        needed, left = step_in_bytes(container, kind) + attention, placement.memory.available
        left -= placement.memory.weights or 0
        if needed > left > 0:
            yield Finding(
                "serving.max_batch_tokens",
                f"a step of {batch_tokens(container):,} tokens takes about {in_gb(needed)} on "
                f"{placement.instance.type}, where {in_gb(left)} is left beside the weights",
                "use fewer tokens, a model with a shorter context, or a type with more memory",
            )


def _has_onnx(container: Container) -> bool:
    """Whether the files may hold the model as ONNX, which the image for CPUs computes first."""
    files = container.lock.files if container.lock else None
    return container.platform == "cpu" and (files is None or any(name.endswith(".onnx") for name in files))
