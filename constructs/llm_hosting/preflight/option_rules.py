"""Rules over what the container is told, whichever engine is in it."""

from collections.abc import Iterator

from ..catalog.engines import EngineVersion, engine
from ..container_settings import image_version, is_read
from ..deployment import Deployment
from .finding import error, warning
from .memory import UTILIZATIONS
from .plan import container


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
    version, serving = image_version(deployment), deployment.serving
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
    """Variables that belong to another container."""
    plan = container(deployment)
    task_is_read = plan.server in ("huggingface", "own") or plan.engine == "lmi-huggingface"
    for name in deployment.serving.environment:
        if (name == "HF_TASK" and not task_is_read) or not is_read(name, plan.server):
            yield f"serving.environment.{name}", f"has no effect on {plan.engine}; remove it."
