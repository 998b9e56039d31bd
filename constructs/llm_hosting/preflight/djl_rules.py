"""Rules over DJL Serving, the server of LMI: handlers, engines and options of its versions."""

from collections.abc import Iterator

from ..catalog.engines import engine, numbers
from ..container_settings import FIRST_ROLLING_BATCH, image_version
from ..deployment import Deployment
from .finding import error, warning
from .nearest import nearest
from .plan import container

# Values of option.rolling_batch that end (djl-serving, branches 0.23.0-dlc to 0.36.0).
_ROLLING_BATCH_GONE = {"lmi-dist": (0, 33), "scheduler": (0, 33), "deepspeed": (0, 28)}
# Words for engines and rolling batches, and how the tags of the images that hold them are called.
_IN_IMAGES = {
    "vllm": ("lmi", "deepspeed", "neuronx"),
    "lmi-dist": ("lmi", "deepspeed"),
    "trtllm": ("tensorrtllm",),
    "DeepSpeed": ("deepspeed",),
    "FasterTransformer": ("fastertransformer",),
}
_FIRST_VLLM = (0, 24)
_S3URL_GONE_FROM = (0, 28)  # deprecated from 0.22.1 on, and read on (djl-serving, ModelInfo.java, LmiUtils.java)


@error
def handler_fits_engine(deployment: Deployment) -> Iterator[tuple[str, str]]:
    """Only DJL Serving runs a handler of one's own."""
    serving = deployment.serving
    if serving.handler and engine(serving.engine).server != "djl":
        yield (
            "serving.handler",
            f"{serving.handler!r} does not run on {serving.engine}: only DJL Serving takes a model.py; use an engine "
            "lmi-..., or remove it.",
        )


@error
def handler_takes_single_requests(deployment: Deployment) -> Iterator[tuple[str, str]]:
    """DJL Serving hands a batch to a handler as one call, which the handlers of model_src/ do not take apart."""
    serving = deployment.serving
    if serving.handler and (serving.max_batch_size or 1) > 1:
        yield "serving.max_batch_size", f"{serving.max_batch_size} is refused with serving.handler; remove it."


@error
def handler_fits_version(deployment: Deployment) -> Iterator[tuple[str, str]]:
    """Names of built-in handlers come and go with versions of the image."""
    plan = container(deployment)
    name, version = plan.environment.get("OPTION_ENTRYPOINT"), plan.version
    if plan.server != "djl" or version is None or name is None or plan.has_own_code:
        return
    if name not in version.handlers:
        yield (
            "serving.environment.OPTION_ENTRYPOINT",
            f"{name!r} is no handler of {version.engine} {version.label}; use {nearest(name, version.handlers)}.",
        )


@error
def option_fits_version(deployment: Deployment) -> Iterator[tuple[str, str]]:
    """Options of DJL Serving that a version does not know yet, or no more."""
    plan = container(deployment)
    version, environment = plan.version, plan.environment
    if plan.server != "djl" or version is None:
        return
    number = numbers(version.label)
    where = f"of {version.engine} {version.label}"
    if "OPTION_S3URL" in environment and number >= _S3URL_GONE_FROM:
        yield (
            "serving.environment.OPTION_S3URL",
            f"is not read any more by the image {where}: option.s3url ended with 0.27; set model.weights instead, "
            "or OPTION_MODEL_ID to the S3 URI.",
        )
    rolling = environment.get("OPTION_ROLLING_BATCH", "")
    if rolling in _ROLLING_BATCH_GONE and number >= _ROLLING_BATCH_GONE[rolling]:
        yield (
            "serving.environment.OPTION_ROLLING_BATCH",
            f"{rolling!r} is gone from the image {where}; remove it, or use vllm.",
        )
    elif rolling not in ("", "disable", "auto") and number < FIRST_ROLLING_BATCH:
        yield (
            "serving.environment.OPTION_ROLLING_BATCH",
            f"{rolling!r} is not known to the image {where}: rolling batches came with 0.23; use a newer version.",
        )
    elif rolling == "vllm" and number < _FIRST_VLLM:
        yield (
            "serving.environment.OPTION_ROLLING_BATCH",
            f"'vllm' is not in the image {where}: it came with 0.24; use a newer version, or lmi-dist.",
        )
    started_by = environment.get("SERVING_ENGINE") or environment.get("OPTION_ENGINE")
    if rolling == "deepspeed" and "MPI" in (environment.get("OPTION_ENGINE"), started_by):
        yield (
            "serving.environment.OPTION_ROLLING_BATCH",
            "'deepspeed' is refused by what the engine MPI starts; remove OPTION_ENGINE, or use another.",
        )
    is_async = environment.get("OPTION_ASYNC_MODE", "").lower() == "true"
    if is_async and number < (0, 33):
        yield (
            "serving.environment.OPTION_ASYNC_MODE",
            f"true is not known to the image {where}: it came with LMI 15 (0.33); use a newer version.",
        )


@warning
def option_is_read(deployment: Deployment) -> Iterator[tuple[str, str]]:
    """Options that are about to go, or that LMI calls by another name."""
    plan = container(deployment)
    given, version = deployment.serving.environment, plan.version
    if plan.server != "djl" or version is None:
        return
    if "OPTION_S3URL" in given and (0, 22) <= numbers(version.label) < _S3URL_GONE_FROM:
        yield (
            "serving.environment.OPTION_S3URL",
            "is deprecated since 0.22.1, and some images no longer read it; set model.weights instead.",
        )
    task = given.get("OPTION_TASK", "text")
    if not task.startswith("text"):
        yield (
            "serving.environment.OPTION_TASK",
            f"{task!r} makes the handler load {plan.model_id} by a class that models which generate text do not have; "
            "use text-generation.",
        )
    if "OPTION_QUANTIZATION" in given and not plan.passes_options_on:
        yield (
            "serving.environment.OPTION_QUANTIZATION",
            f"is not read by {version.engine} {version.label}; use OPTION_QUANTIZE, which is LMI's name for it.",
        )


@error
def library_is_in_image(deployment: Deployment) -> Iterator[tuple[str, str]]:
    """Each image of DJL Serving holds one or two libraries, and can't be told to use another."""
    plan = container(deployment)
    tag = (plan.version.tag if plan.version else None) or ""
    for name in ("OPTION_ROLLING_BATCH", "OPTION_ENGINE", "SERVING_ENGINE"):
        word = deployment.serving.environment.get(name, "")
        images = _IN_IMAGES.get(word, ())
        if plan.server == "djl" and tag and images and not any(image in tag for image in images):
            yield (
                f"serving.environment.{name}",
                f"{word!r} is not in djl-inference:{tag}; remove it, or use an image for {' or '.join(images)}.",
            )


@error
def fastertransformer_needs_code(deployment: Deployment) -> Iterator[tuple[str, str]]:
    """The first image with FasterTransformer has no handler for it (djl-serving, branch 0.21.0-dlc)."""
    version = image_version(deployment)
    own = deployment.serving.handler or "OPTION_ENTRYPOINT" in deployment.serving.environment
    if version and version.engine == "lmi-fastertransformer" and version.handler is None and not own:
        yield (
            "serving.version",
            f"{version.label!r} of lmi-fastertransformer has no built-in handler; use 0.22.1 or newer, or bring your "
            "own with serving.handler.",
        )
