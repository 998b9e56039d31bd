"""Rules over Hugging Face's inference toolkit: its tasks, the type it computes in, its disk."""

from collections.abc import Iterator

from ...catalog.versions import is_before
from ...deployment.finding import Finding
from ...resolution import Container, Resolution
from ...resolution.memory import GB, in_gb
from .rule import error, warning

# transformers, pipelines/__init__.py: SUPPORTED_TASKS and TASK_ALIASES of 4.6 to 5.5.
_TASKS = {
    "any-to-any",
    "audio-classification",
    "automatic-speech-recognition",
    "conversational",
    "depth-estimation",
    "document-question-answering",
    "feature-extraction",
    "fill-mask",
    "image-classification",
    "image-feature-extraction",
    "image-segmentation",
    "image-text-to-text",
    "image-to-image",
    "image-to-text",
    "keypoint-matching",
    "mask-generation",
    "ner",
    "object-detection",
    "question-answering",
    "sentiment-analysis",
    "summarization",
    "table-question-answering",
    "text-classification",
    "text-generation",
    "text-to-image",
    "text-to-audio",
    "text-to-speech",
    "text2text-generation",
    "token-classification",
    "video-classification",
    "visual-question-answering",
    "vqa",
    "zero-shot-audio-classification",
    "zero-shot-classification",
    "zero-shot-image-classification",
    "zero-shot-object-detection",
}
# From 5 on, transformers loads weights in the type of the files, and has fewer pipelines (its migration guide).
_FIVE = "5"
_GONE_WITH_FIVE = ("text2text-generation", "summarization", "translation")


@error
def task_is_known(resolution: Resolution) -> Iterator[Finding]:
    """The toolkit makes a pipeline of transformers or diffusers for the task, and answers 400 if there is none.

    With remote code, a model may bring a pipeline of its own.
    """
    container, field = resolution.container, "serving.environment.HF_TASK"
    task = resolution.deployment.serving.environment.get("HF_TASK")
    has_own = container.may_have_own_code or container.flag("HF_TRUST_REMOTE_CODE")
    if container.server != "huggingface" or task is None or has_own:
        return
    if task.startswith(_GONE_WITH_FIVE) and _has_five(container):
        yield Finding(field, f"{task!r} has no pipeline in transformers 5 any more", "use version 4.51.3")
    elif task not in _TASKS and not task.startswith("translation"):
        problem = f"{task!r} is not a task of the toolkit's pipelines"
        yield Finding(field, problem, "use text-generation, or another task of the pipelines")


@warning
def pipelines_load_32_bits(resolution: Resolution) -> Iterator[Finding]:
    """Before transformers 5 a pipeline loads weights as fp32, whatever the files hold, unless your code sets a type."""
    container, size = resolution.container, resolution.container.parameters_in_billions
    is_old = container.engine == "huggingface" and container.version is not None and not _has_five(container)
    if not is_old or container.dtype is not None or not size:
        return
    for placement in resolution.placements:
        instance, need = placement.instance, placement.memory
        if instance.kind == "gpu" and size * 4 * GB > need.available >= (need.weights or 0):
            yield Finding(
                "serving.version",
                f"{container.label} loads {container.model_id} in 32 bits: {in_gb(size * 4 * GB)}, but "
                f"{instance.type} gives {in_gb(need.available)}",
                "use a version with transformers 5, another engine, or an inference.py that sets torch_dtype",
            )


def _has_five(container: Container) -> bool:
    transformers = container.version.transformers if container.version else None
    return transformers is not None and not is_before(transformers, _FIVE)
