"""Rules over `model` and `serving`: engine and image, weights, environment."""

import re
from collections.abc import Iterator

from ..catalog.engines import engine
from ..catalog.regions import container_accounts
from ..deployment import Deployment
from ..resolution import derived_environment
from .finding import error, warning
from .nearest import nearest

_SECRET_NAME = re.compile(r"(^|_)(TOKEN|SECRET|PASSWORD|PASSWD|PAT|API_?KEY|ACCESS_KEY|PRIVATE_KEY)$", re.IGNORECASE)
_SECRET_VALUE = re.compile(
    r"\bhf_[A-Za-z0-9]{8,}|\bgh[pousr]_[A-Za-z0-9]{20,}|\bsk-[A-Za-z0-9]{16,}|\bA[SK]IA[0-9A-Z]{16}\b"
)
# LMI by the repository that AWS keeps it in, or by what its tags name after the version.
_LMI_IMAGE = re.compile(r"djl-inference:|-(lmi|deepspeed|fastertransformer|neuronx|tensorrtllm)")
_VERSION_IN_TAG = re.compile(r":(\d+)\.(\d+)\.\d+")
_FIRST_LMI_FOR_ASYNC = (0, 31)
_NO_SECRETS = {"SLIPWAY_LOCAL_SECONDS_PER_TOKEN"}
MOST_VARIABLES, MOST_BYTES = 100, 32 * 1024  # SageMaker's limits on the environment of a container


@error
def known_engine_version(deployment: Deployment) -> Iterator[tuple[str, str]]:
    """`serving.version` is in the catalog."""
    serving = deployment.serving
    versions = engine(serving.engine).versions
    if serving.version is not None and serving.version not in versions:
        yield (
            "serving.version",
            f"{serving.version!r} is not a version of {serving.engine}; use {nearest(serving.version, versions)}.",
        )


@error
def region_has_images(deployment: Deployment) -> Iterator[tuple[str, str]]:
    """The region has an account with AWS's images."""
    region = deployment.region
    if region is not None and region not in container_accounts() and deployment.serving.image_uri is None:
        yield "region", f"{region!r} has no known account of AWS images; use {nearest(region, container_accounts())}."


@error
def image_is_in_region(deployment: Deployment) -> Iterator[tuple[str, str]]:
    """SageMaker pulls images from the endpoint's own region only."""
    uri, region = deployment.serving.image_uri, deployment.region
    if uri and region and ".dkr.ecr.${AWS::Region}." not in uri and f".dkr.ecr.{region}." not in uri:
        yield (
            "serving.image_uri",
            f"{uri!r} is not in the deployment's region {region}; copy the image there and write ${{AWS::Region}} "
            "for the region.",
        )


@warning
def image_uri_wins(deployment: Deployment) -> Iterator[tuple[str, str]]:
    """A version beside an image of one's own has little effect."""
    serving = deployment.serving
    if serving.image_uri and serving.version:
        yield (
            "serving.version",
            f"{serving.version!r} only says which request bodies the image takes: serving.image_uri names the image.",
        )


@error
def lmi_answers_async(deployment: Deployment) -> Iterator[tuple[str, str]]:
    """Before 0.31.0 LMI's answers lack the Content-Length that asynchronous endpoints need (djl-serving#2567)."""
    uri = deployment.serving.image_uri or ""
    version = _VERSION_IN_TAG.search(uri) if _LMI_IMAGE.search(uri) else None
    is_old = version and (int(version[1]), int(version[2])) < _FIRST_LMI_FOR_ASYNC
    if deployment.hosting.mode == "async" and is_old:
        yield (
            "serving.image_uri",
            f"{uri!r} is an LMI image that does not work with hosting.mode: async; use 0.31.0 or newer, or realtime.",
        )


@error
def key_needs_weights(deployment: Deployment) -> Iterator[tuple[str, str]]:
    """A key without weights decrypts nothing."""
    if deployment.model.weights_kms_key_arn and deployment.model.weights is None:
        yield (
            "model.weights_kms_key_arn",
            "has nothing to decrypt: model.weights is not set; set it or remove the key.",
        )


@warning
def revision_needs_hub(deployment: Deployment) -> Iterator[tuple[str, str]]:
    """A revision means nothing for weights in S3."""
    model = deployment.model
    if model.revision and model.weights:
        yield "model.revision", f"{model.revision!r} has no effect: the weights come from {model.weights}."


@error
def no_secret_in_environment(deployment: Deployment) -> Iterator[tuple[str, str]]:
    """The environment is readable for whoever may describe the model; a dynamic reference is expanded into it."""
    for name, value in deployment.serving.environment.items():
        looks_secret = _SECRET_NAME.search(name) and name not in _NO_SECRETS
        if looks_secret or _SECRET_VALUE.search(value) or "{{resolve:" in value:
            yield (
                f"serving.environment.{name}",
                "looks like a secret, which anyone who may describe the model could read; "
                "copy gated weights to S3 once and set model.weights instead.",
            )


@error
def environment_fits(deployment: Deployment) -> Iterator[tuple[str, str]]:
    """SageMaker's limits on number and size of all variables, ours included."""
    serving = deployment.serving
    environment = {**derived_environment(deployment), **serving.environment}
    if len(environment) > MOST_VARIABLES:
        ours = len(environment) - len(serving.environment)
        yield (
            "serving.environment",
            f"has {len(serving.environment)} variables beside {ours} of ours; SageMaker takes {MOST_VARIABLES}: "
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
    """A variable that we derive is set by hand."""
    serving = deployment.serving
    for name, ours in derived_environment(deployment).items():
        if serving.environment.get(name, ours) != ours:
            yield f"serving.environment.{name}", f"wins over {ours!r}, which other settings say."


@warning
def hf_task_is_ignored(deployment: Deployment) -> Iterator[tuple[str, str]]:
    """HF_TASK belongs to the Hugging Face inference toolkit, not to these engines."""
    if "HF_TASK" in deployment.serving.environment:
        yield "serving.environment.HF_TASK", f"has no effect on {deployment.serving.engine}; remove it."
