"""Rules over what the container is told: settings, handlers, options of DJL Serving, limits of TGI."""

from collections.abc import Iterator

from ..catalog.engines import EngineVersion, engine, numbers
from ..container_settings import image_version, is_read
from ..deployment import Deployment
from .finding import error, warning
from .memory import UTILIZATIONS
from .nearest import nearest
from .plan import Plan, container

# Values of option.rolling_batch that end (djl-serving, branches 0.23.0-dlc to 0.36.0).
_ROLLING_BATCH_GONE = {"lmi-dist": (0, 33), "scheduler": (0, 33), "deepspeed": (0, 28)}
_FIRST_ROLLING_BATCH = (0, 23)
_S3URL_GONE_FROM = (0, 28)  # deprecated from 0.22.1 on, and read on (djl-serving, ModelInfo.java, LmiUtils.java)
_DEFAULT_INPUT, _DEFAULT_TOTAL, _DEFAULT_PREFILL = 1024, 2048, 4096  # TGI before 2.0
_FIRST_LIMITS_BY_MODEL = (2,)
_FIRST_CHAT_BY_SHAPE = (2, 4)  # from here on TGI's /invocations takes chat bodies unasked
_FIRST_NAMED_TOKENS = (3,)
_PASSES_ALL_FROM = (0, 33)  # what LMI does not know is handed to vLLM from here on


@warning
def settings_reach_engine(deployment: Deployment) -> Iterator[tuple[str, str]]:
    """A setting that the container has no variable for does nothing, but for the checks."""
    for field, value, version in _said(deployment):
        is_default = field == "serving.tensor_parallel_degree" and value == 1
        if field.partition(".")[2] not in version.variables and not is_default:
            yield (
                field,
                f"{value!r} does not reach {version.engine} {version.label}, which has no such setting; remove it.",
            )


@error
def values_fit_engine(deployment: Deployment) -> Iterator[tuple[str, str]]:
    """Versions of an engine take some formats of numbers and not others."""
    for field, value, version in _said(deployment):
        variable = version.variables.get(field.partition(".")[2])
        is_rolled = version.engine == "lmi-deepspeed" and container(deployment).runs_vllm  # by a rolling batch
        is_vllms = field == "model.quantization" and is_rolled
        if variable and variable.values is not None and value not in variable.values and not is_vllms:
            known = ", ".join(variable.values) or "none"
            yield (
                field,
                f"{value!r} is no value for {version.engine} {version.label}; use one of {known}, or remove it.",
            )


def _said(deployment: Deployment) -> Iterator[tuple[str, object, EngineVersion]]:
    """Settings of the engine that the file says: field, value, the version that has to take it."""
    version, serving = image_version(deployment.serving), deployment.serving
    values: dict[str, object] = {
        "model.dtype": deployment.model.dtype,
        "model.quantization": deployment.model.quantization,
        "model.revision": None if deployment.model.weights else deployment.model.revision,
        "serving.max_model_len": serving.max_model_len,
        "serving.max_batch_size": serving.max_batch_size,
        "serving.max_batch_delay_in_ms": serving.max_batch_delay_in_ms,
        "serving.tensor_parallel_degree": serving.tensor_parallel_degree,
    }
    if version and version.tag:
        yield from ((field, value, version) for field, value in values.items() if value is not None)


@error
def memory_share_is_possible(deployment: Deployment) -> Iterator[tuple[str, str]]:
    """Engines refuse to take more than all of an accelerator's memory."""
    plan = container(deployment)
    for name in UTILIZATIONS:
        share = plan.number(name)
        if share is not None and not 0 < share <= 1:
            yield f"serving.environment.{name}", f"{share:g} is no share of the memory; use more than 0 and at most 1."


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
    name = _entry_point(plan)
    version = plan.version
    if not (version and name and plan.server == "djl" and name.startswith("djl_python.")):
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
    elif rolling not in ("", "disable", "auto") and number < _FIRST_ROLLING_BATCH:
        yield (
            "serving.environment.OPTION_ROLLING_BATCH",
            f"{rolling!r} is not known to the image {where}: rolling batches came with 0.23; use a newer version.",
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


@error
def fastertransformer_needs_code(deployment: Deployment) -> Iterator[tuple[str, str]]:
    """The first image with FasterTransformer has no handler for it (djl-serving, branch 0.21.0-dlc)."""
    version = image_version(deployment.serving)
    own = deployment.serving.handler or "OPTION_ENTRYPOINT" in deployment.serving.environment
    if version and version.engine == "lmi-fastertransformer" and version.handler is None and not own:
        yield (
            "serving.version",
            f"{version.label!r} of lmi-fastertransformer has no built-in handler; use 0.22.1 or newer, or bring your "
            "own with serving.handler.",
        )


@error
def tgi_limits(deployment: Deployment) -> Iterator[tuple[str, str]]:
    """TGI ends at once when input, prefill and total do not go together (the checks of its launcher)."""
    plan = container(deployment)
    if plan.engine == "tgi" and plan.version:
        yield from _tgi_limits(plan, has_defaults=numbers(plan.version.label) < _FIRST_LIMITS_BY_MODEL)


def _tgi_limits(plan: Plan, *, has_defaults: bool) -> Iterator[tuple[str, str]]:
    """From 2.0 on, what is not given follows from the model and from what is."""
    name = "MAX_INPUT_TOKENS" if "MAX_INPUT_TOKENS" in plan.environment else "MAX_INPUT_LENGTH"
    most = plan.number(name) or (_DEFAULT_INPUT if has_defaults else None)
    total = plan.number("MAX_TOTAL_TOKENS") or (_DEFAULT_TOTAL if has_defaults else None)
    prefill = plan.number("MAX_BATCH_PREFILL_TOKENS") or (_DEFAULT_PREFILL if has_defaults else None)
    batch_total = plan.number("MAX_BATCH_TOTAL_TOKENS")
    if most and total and most >= total:
        yield (
            f"serving.environment.{name}",
            f"{most:,.0f} tokens of input leave none of {total:,.0f} (MAX_TOTAL_TOKENS) for the answer; TGI wants "
            f"input < total: use {total - 1:,.0f} or less, or a larger total.",
        )
    if most and prefill and prefill < most:
        yield (
            "serving.environment.MAX_BATCH_PREFILL_TOKENS",
            f"{prefill:,.0f} is less than the longest input, {most:,.0f} ({name}), at which TGI ends; use {most:,.0f} "
            "or more.",
        )
    if batch_total and total and batch_total < total:
        yield (
            "serving.environment.MAX_BATCH_TOTAL_TOKENS",
            f"{batch_total:,.0f} is less than MAX_TOTAL_TOKENS, {total:,.0f}, at which TGI ends; use {total:,.0f} or "
            "more.",
        )
    if not has_defaults and {"MAX_INPUT_LENGTH", "MAX_INPUT_TOKENS"} <= plan.environment.keys():
        yield "serving.environment.MAX_INPUT_LENGTH", "is refused beside MAX_INPUT_TOKENS, its new name; remove one."


@warning
def legacy_engine(deployment: Deployment) -> Iterator[tuple[str, str]]:
    """An engine that is no longer built gets no security fixes either."""
    known = engine(deployment.serving.engine)
    if known.legacy:
        yield (
            "serving.engine",
            f"{known.name!r} is legacy since {known.legacy.since}: {known.legacy.reason.rstrip('.')}; its successor is "
            f"{known.legacy.successor}.",
        )


@error
def custom_needs_image(deployment: Deployment) -> Iterator[tuple[str, str]]:
    """There is no image to choose for an engine of one's own."""
    serving = deployment.serving
    if serving.engine == "custom" and serving.image_uri is None:
        yield "serving.image_uri", "is needed with serving.engine: custom; name the image in Amazon ECR."


@warning
def setting_is_read(deployment: Deployment) -> Iterator[tuple[str, str]]:
    """Variables that belong to another container, or to another version of this one."""
    plan = container(deployment)
    given, version = deployment.serving.environment, plan.version
    task_is_read = plan.server in ("huggingface", "own") or plan.engine == "lmi-huggingface"
    for name in given:
        if (name == "HF_TASK" and not task_is_read) or not is_read(name, plan.server):
            yield f"serving.environment.{name}", f"has no effect on {plan.engine}; remove it."
    deprecated = plan.server == "djl" and version and (0, 22) <= numbers(version.label) < _S3URL_GONE_FROM
    if "OPTION_S3URL" in given and deprecated:
        yield (
            "serving.environment.OPTION_S3URL",
            "is deprecated since 0.22.1, and some images no longer read it; set model.weights instead.",
        )
    if (
        "OPTION_QUANTIZATION" in given
        and plan.server == "djl"
        and version
        and numbers(version.label) < _PASSES_ALL_FROM
    ):
        yield (
            "serving.environment.OPTION_QUANTIZATION",
            f"is not read by {version.engine} {version.label}; use OPTION_QUANTIZE, which is LMI's name for it.",
        )
    if plan.engine == "tgi" and version:
        number = numbers(version.label)
        if "MESSAGES_API_ENABLED" in given and not (1, 4) <= number < _FIRST_CHAT_BY_SHAPE:
            yield (
                "serving.environment.MESSAGES_API_ENABLED",
                f"has no effect on TGI {version.label}: it is read from 1.4 to 2.3, and from 2.4 on chats are "
                "known by their shape; remove it.",
            )
        if "MAX_INPUT_LENGTH" in given and number >= _FIRST_NAMED_TOKENS:
            yield (
                "serving.environment.MAX_INPUT_LENGTH",
                "is called MAX_INPUT_TOKENS since TGI 3; rename it, or leave it out to have it computed from memory.",
            )


def _entry_point(plan: Plan) -> str | None:
    named = plan.environment.get("OPTION_ENTRYPOINT")
    return None if plan.deployment.serving.handler else named
