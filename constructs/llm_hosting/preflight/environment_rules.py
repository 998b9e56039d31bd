"""Rules over `serving.environment`: secrets, size, spelling, and what wins over other settings."""

import difflib
import re
from collections.abc import Iterator

from ..catalog.engines import engine
from ..container_settings import NAMES, container_settings, derived_environment, image_version, is_read
from ..deployment import Deployment
from .finding import error, warning

_SECRET_NAME = re.compile(r"(^|_)(TOKEN|SECRET|PASSWORD|PASSWD|PAT|API_?KEY|ACCESS_KEY|PRIVATE_KEY)$", re.IGNORECASE)
_SECRET_VALUE = re.compile(
    r"\bhf_[A-Za-z0-9]{8,}|\bgh[pousr]_[A-Za-z0-9]{20,}|\bsk-[A-Za-z0-9]{16,}|\bA[SK]IA[0-9A-Z]{16}\b"
)
# What the Hub gives out has a shape; anything else under these names only stands for it.
_HUB_TOKEN_NAME = re.compile(r"^(HF|HUGGING_?FACE)\w*TOKEN$")
_NO_SECRETS = {"SLIPWAY_LOCAL_SECONDS_PER_TOKEN"}
_PLACEHOLDER = re.compile(r"[<>{}*]|\.\.\.|your|replace|x{5,}|^(hf_)?(hub_)?token$|^$", re.IGNORECASE)
_FREE = {"startup_timeout_in_seconds"}  # the model's own timeout may be shorter than SageMaker's
# Known to containers, beside what settings go by.
_OTHERS_READ = {
    "HF_MODEL_TRUST_REMOTE_CODE",
    "HF_TASK",
    "MAX_BATCH_PREFILL_TOKENS",
    "MAX_BATCH_TOTAL_TOKENS",
    "MAX_INPUT_LENGTH",
    "MAX_INPUT_TOKENS",
    "OPTION_ENTRYPOINT",
    "OPTION_GPU_MEMORY_UTILIZATION",
    "OPTION_ROLLING_BATCH",
    "OPTION_TRUST_REMOTE_CODE",
}
# As near to one of those, and right.
_NOT_MISSPELT = {"SM_NUM_CPUS", "SM_SGLANG_DP_SIZE", "SM_SGLANG_EP_SIZE", "SM_SGLANG_PP_SIZE"}
_CLOSE = 0.9  # of 1, by difflib
MOST_VARIABLES, MOST_BYTES = 100, 32 * 1024  # SageMaker's limits on the environment of a container


@error
def no_secret_in_environment(deployment: Deployment) -> Iterator[tuple[str, str]]:
    """The environment is readable for whoever may describe the model; a dynamic reference is expanded into it."""
    for name, value in deployment.serving.environment.items():
        if "{{resolve:" in value or _is_secret(name, value):
            yield (
                f"serving.environment.{name}",
                "looks like a secret, which anyone who may describe the model could read; "
                "copy gated weights to S3 once and set model.weights instead.",
            )


def _is_secret(name: str, value: str) -> bool:
    """By its shape; under a name that is not the Hub's, by not looking like something that stands for a secret."""
    if _SECRET_VALUE.search(value):
        return not _PLACEHOLDER.search(value)
    is_hub_token = _HUB_TOKEN_NAME.search(name) is not None
    is_named_so = _SECRET_NAME.search(name) is not None and name not in _NO_SECRETS
    return is_named_so and not is_hub_token and not _PLACEHOLDER.search(value)


@warning
def placeholder_in_environment(deployment: Deployment) -> Iterator[tuple[str, str]]:
    """What stands for a token is none, and where it is replaced it becomes readable."""
    for name, value in deployment.serving.environment.items():
        stands_for_one = _SECRET_NAME.search(name) and name not in _NO_SECRETS and not _is_secret(name, value)
        if stands_for_one and "{{resolve:" not in value:
            yield (
                f"serving.environment.{name}",
                f"{value!r} stands for a secret, which does not belong here; name it in model.hub_token_secret_arn, or "
                "copy gated weights to S3 once and set model.weights.",
            )


@error
def environment_fits(deployment: Deployment) -> Iterator[tuple[str, str]]:
    """SageMaker's limits on number and size of all variables, ours included."""
    serving = deployment.serving
    environment = container_settings(deployment).environment
    if len(environment) > MOST_VARIABLES:
        ours = len(environment.keys() - serving.environment.keys())
        yield (
            "serving.environment",
            f"has {len(environment) - ours} variables beside {ours} of ours; SageMaker takes {MOST_VARIABLES}: "
            "move some into a file beside the weights.",
        )
    size = sum(len(name.encode()) + len(value.encode()) for name, value in environment.items())
    if size > MOST_BYTES:
        yield (
            "serving.environment",
            f"is {size:,} bytes; SageMaker takes {MOST_BYTES:,}: move long values into a file beside the weights.",
        )


@warning
def environment_wins(deployment: Deployment) -> Iterator[tuple[str, str]]:
    """A variable that we derive is set by hand, under its own or another name, to something else."""
    serving = deployment.serving
    bare = serving.model_copy(update={"environment": {}})
    ours = derived_environment(deployment.model_copy(update={"serving": bare}))
    version = image_version(deployment)
    server = engine(version.engine if version else serving.engine).server
    setting_of = {name: setting for setting, names in NAMES.items() for name in names if is_read(name, server)}
    for name, value in serving.environment.items():
        setting = setting_of.get(name, "")
        word = next((ours[each] for each in NAMES.get(setting, (name,)) if each in ours), value)
        is_free = setting in _FREE or (setting == "tensor_parallel_degree" and serving.tensor_parallel_degree is None)
        if word != value and not is_free and name != "HF_TASK":  # which task it is, only its author knows
            yield (
                f"serving.environment.{name}",
                f"wins over {word!r}, which the deployment says or would set itself; remove one of them.",
            )


@warning
def variable_is_misspelt(deployment: Deployment) -> Iterator[tuple[str, str]]:
    """A variable that nothing reads has no effect, and nobody says so."""
    known = {name for names in NAMES.values() for name in names} | _OTHERS_READ
    for name in sorted(deployment.serving.environment.keys() - known - _NOT_MISSPELT):
        if near := difflib.get_close_matches(name, known, n=1, cutoff=_CLOSE):
            yield f"serving.environment.{name}", f"looks like a misspelt {near[0]}; rename it, or silence this."
