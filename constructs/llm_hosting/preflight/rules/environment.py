"""Rules over `serving.environment`: secrets, size, numbers, and contradictions with settings of the same file."""

import re
from collections.abc import Iterator

from ...catalog.engines import EngineVersion
from ...deployment.finding import Finding
from ...resolution import Resolution
from ...resolution.variables import VARIABLE_ALIASES, is_read
from .rule import error, warning

_SECRET_NAME = re.compile(r"(^|_)(TOKEN|SECRET|PASSWORD|PASSWD|PAT|API_?KEY|ACCESS_KEY|PRIVATE_KEY)$", re.IGNORECASE)
_SECRET_VALUE = re.compile(
    r"\bhf_[A-Za-z0-9]{8,}|\bgh[pousr]_[A-Za-z0-9]{20,}|\bsk-[A-Za-z0-9]{16,}|\bA[SK]IA[0-9A-Z]{16}\b"
)
# The Hub's tokens have a known form; any other value under these names is a placeholder.
_HUB_TOKEN_NAME = re.compile(r"^(HF|HUGGING_?FACE)\w*TOKEN$")
_NOT_SECRET_NAMES = {"SLIPWAY_LOCAL_SECONDS_PER_TOKEN"}
# These are not secrets: a placeholder, or a number of tokens.
_NO_SECRET = re.compile(r"[<>{}*]|\.\.\.|your|replace|x{5,}|^(hf_)?(hub_)?token$|^[0-9]{0,8}$", re.IGNORECASE)
_COUNTS = ("max_model_len", "max_batch_size", "max_batch_tokens", "max_batch_delay_in_ms", "tensor_parallel_degree")
# vLLM takes lengths such as `16k`, `-1` or `auto`; LMI takes the degree `max`.
_COUNT = re.compile(r"-?[0-9]+(\.[0-9]+)?[kKmMgG]?|auto|max|", re.IGNORECASE)
_MOST_VARIABLES, _MOST_BYTES = 100, 32 * 1024  # SageMaker's limits on the environment of a container


@error
def no_secret_in_environment(resolution: Resolution) -> Iterator[Finding]:
    """Everyone who may describe the model can read its environment, including secrets from dynamic references."""
    for name, value in resolution.deployment.serving.environment.items():
        if "{{resolve:" in value or _is_secret(name, value):
            yield Finding(
                f"serving.environment.{name}",
                "looks like a secret, which everyone who may describe the model could read",
                "copy gated weights to S3 once and set model.weights instead",
            )


@error
def environment_fits(resolution: Resolution) -> Iterator[Finding]:
    """SageMaker limits the number and the size of all variables together, Slipway's included."""
    environment = resolution.environment
    if len(environment) > _MOST_VARIABLES:
        ours = len(environment.keys() - resolution.deployment.serving.environment.keys())
        yield Finding(
            "serving.environment",
            f"has {len(environment) - ours} variables, and Slipway adds {ours}; SageMaker takes "
            f"{_MOST_VARIABLES} in all",
            "move some into a file beside the weights",
        )
    size = sum(len(name.encode()) + len(value.encode()) for name, value in environment.items())
    if size > _MOST_BYTES:
        yield Finding(
            "serving.environment",
            f"is {size:,} bytes; SageMaker takes {_MOST_BYTES:,}",
            "move long values into a file beside the weights",
        )


@error
def counts_are_numbers(resolution: Resolution) -> Iterator[Finding]:
    """An engine ends at its start if it can't read a length, a batch size or a degree."""
    server = resolution.container.server
    for name in (name for setting in _COUNTS for name in VARIABLE_ALIASES[setting]):
        value = resolution.deployment.serving.environment.get(name, "")
        if is_read(name, server) and not _COUNT.fullmatch(value.strip()):
            yield Finding(
                f"serving.environment.{name}", f"{value!r} is not a number", "use a whole number, such as 8192"
            )


@warning
def environment_wins(resolution: Resolution) -> Iterator[Finding]:
    """A variable overrides a setting of the same file."""
    container, given = resolution.container, resolution.deployment.serving.environment
    model_id = resolution.deployment.model.id
    if container.model_id != model_id:
        problem = (
            f"names {container.model_id}, which wins over model.id ({model_id}), so GET /endpoint shows the wrong model"
        )
        yield Finding("serving.environment", problem, f"set model.id to {container.model_id} and remove the variable")
    settings = {field.partition(".")[2] for field in engine_settings(resolution)}
    for setting in sorted(settings):
        names = [name for name in VARIABLE_ALIASES.get(setting, ()) if is_read(name, container.server)]
        derived = next((resolution.derived[name] for name in names if name in resolution.derived), None)
        for name in names:
            if derived is not None and given.get(name, derived) != derived:
                problem = f"wins over {derived!r}, which comes from the setting {setting}"
                yield Finding(f"serving.environment.{name}", problem, "remove one of them")


@error
def values_fit_engine(resolution: Resolution) -> Iterator[Finding]:
    """Each version of an engine takes only certain number formats."""
    version = published(resolution)
    # lmi-deepspeed takes vLLM's formats if its rolling batch is vLLM's.
    is_rolled = resolution.container.engine == "lmi-deepspeed" and resolution.container.runs_vllm
    for field, value in engine_settings(resolution).items() if version else ():
        variable = version.variables.get(field.partition(".")[2]) if version else None
        is_vllms = field == "model.quantization" and is_rolled
        if version and variable and variable.values is not None and value not in variable.values and not is_vllms:
            known = ", ".join(variable.values)
            problem = f"{value!r} is not supported by {version.engine} {version.label}"
            yield Finding(field, problem, f"use one of {known}, or remove it" if known else "remove it")


def _is_secret(name: str, value: str) -> bool:
    """Whether the value has the form of a secret, or stands under the name of one and is not a placeholder."""
    if _SECRET_VALUE.search(value):
        return not _NO_SECRET.search(value)
    is_named_so = _SECRET_NAME.search(name) is not None and name not in _NOT_SECRET_NAMES
    return is_named_so and not _HUB_TOKEN_NAME.search(name) and not _NO_SECRET.search(value)


def published(resolution: Resolution) -> EngineVersion | None:
    """Return the catalog's row of an image that AWS publishes; None = another image."""
    version = resolution.container.version
    return version if version and version.tag else None


def engine_settings(resolution: Resolution) -> dict[str, object]:
    """Return the engine's settings that the file sets, by field."""
    model, serving = resolution.deployment.model, resolution.deployment.serving
    values: dict[str, object] = {
        "model.dtype": model.dtype,
        "model.quantization": model.quantization,
        "model.pooling": model.pooling,
        "model.revision": None if model.weights else model.revision,
        "serving.max_model_len": serving.max_model_len,
        "serving.max_batch_size": serving.max_batch_size,
        "serving.max_batch_tokens": serving.max_batch_tokens,
        "serving.max_batch_delay_in_ms": serving.max_batch_delay_in_ms,
        "serving.tensor_parallel_degree": serving.tensor_parallel_degree,
    }
    return {field: value for field, value in values.items() if value is not None}
