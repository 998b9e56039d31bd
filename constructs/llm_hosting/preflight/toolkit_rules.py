"""Rules over Hugging Face's inference toolkit: its tasks, the type it computes in, its disk."""

from collections.abc import Iterator

from ..catalog.engines import numbers
from ..catalog.model_names import CLASS_NOT_OF_TEXT
from ..deployment import Deployment
from .disk_rules import ROOT_DISK_IN_GB
from .finding import warning
from .memory import GB, in_gb, memory, weights_in_files
from .plan import Plan, container, plans

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
# With 5, transformers loads weights in the type that they are stored in, and has fewer pipelines (its migration guide).
_FIVE = (5,)
_GONE_WITH_FIVE = ("text2text-generation", "summarization", "translation")


@warning
def task_is_known(deployment: Deployment) -> Iterator[tuple[str, str]]:
    """The toolkit makes a pipeline of the task, of transformers or diffusers, and answers 400 if there is none."""
    plan = container(deployment)
    task = plan.environment.get("HF_TASK", "")
    if plan.server != "huggingface" or plan.may_have_own_code:
        return
    name = plan.shape.architecture if plan.shape else ""
    if "HF_TASK" not in deployment.serving.environment and CLASS_NOT_OF_TEXT.search(name):
        example = "automatic-speech-recognition" if name.startswith("Whisper") else "feature-extraction or fill-mask"
        yield (
            "serving.environment",
            f"says no HF_TASK, so {task!r} is taken, which {plan.model_id} ({name}) was not made for; set it, to "
            f"{example} for example.",
        )
    elif task.startswith(_GONE_WITH_FIVE) and _has_five(plan):
        yield (
            "serving.environment.HF_TASK",
            f"{task!r} has no pipeline in transformers 5 any more; use version 4.51.3.",
        )
    elif task not in _TASKS and not task.startswith("translation"):
        yield (
            "serving.environment.HF_TASK",
            f"{task!r} is no task of the toolkit's pipelines; use text-generation, or another of them.",
        )


@warning
def pipelines_load_32_bits(deployment: Deployment) -> Iterator[tuple[str, str]]:
    """Before transformers 5 a pipeline takes fp32, whatever the files have, unless code of one's own says otherwise."""
    for plan in plans(deployment):
        version, size, need = plan.version, plan.parameters_in_billions, memory(plan)
        is_old = version is not None and not _has_five(plan)
        is_gpu = plan.engine == "huggingface" and plan.instance.kind == "gpu" and plan.dtype is None
        if is_gpu and is_old and size and size * 4 * GB > need.available >= (need.weights or 0):
            yield (
                "serving.version",
                f"{version.label if version else ''} loads {plan.model_id} in 32 bits: {in_gb(size * 4 * GB)}, where "
                f"{plan.instance.type} gives {in_gb(need.available)}; use one with transformers 5, another engine, or "
                "an inference.py that says torch_dtype.",
            )


@warning
def weights_fit_root_disk(deployment: Deployment) -> Iterator[tuple[str, str]]:
    """Hugging Face's toolkit copies a model to the root disk, whatever the volume (its issue #80)."""
    for plan in plans(deployment):
        size = weights_in_files(plan)
        if plan.engine == "huggingface" and size and size > ROOT_DISK_IN_GB * GB:
            yield (
                "serving.engine",
                f"'huggingface' copies the {in_gb(size)} of {plan.model_id} to a root disk of about {ROOT_DISK_IN_GB} "
                "GB, where larger models did not fit; use another engine.",
            )
            return


def _has_five(plan: Plan) -> bool:
    return plan.version is not None and numbers(plan.version.transformers or "0") >= _FIVE
