"""Rules over where the weights come from: the Hub or a prefix in S3, its key, and who may read it."""

from collections.abc import Iterator

from ..container_settings import NAMES
from ..deployment import Deployment
from .finding import error, warning

_HUB_IDS = ("HF_MODEL_ID", "OPTION_MODEL_ID", "SM_VLLM_MODEL", "SM_SGLANG_MODEL_PATH")


@warning
def weights_can_be_read(deployment: Deployment) -> Iterator[tuple[str, str]]:
    """The endpoint's role may read `model.weights`, and no other prefix."""
    for name in NAMES["model"]:
        uri = deployment.serving.environment.get(name, "")
        if uri.startswith("s3://") and not uri.startswith(deployment.model.weights or "-"):
            yield (
                f"serving.environment.{name}",
                f"{uri!r} can't be read by the endpoint's role; set model.weights to it instead.",
            )


@error
def hub_id_is_no_address(deployment: Deployment) -> Iterator[tuple[str, str]]:
    """Engines ask the Hub for a name; its web address is none (huggingface_hub's HFValidationError)."""
    for name in _HUB_IDS:
        given = deployment.serving.environment.get(name, "")
        if given.startswith(("http://", "https://")):
            yield f"serving.environment.{name}", f"{given!r} is an address, not owner/name; use model.id instead."


@error
def isolation_needs_no_installation(deployment: Deployment) -> Iterator[tuple[str, str]]:
    """An own handler installs its requirements, and reads S3, over the network."""
    if deployment.hosting.network_isolation and deployment.serving.handler:
        yield (
            "hosting.network_isolation",
            "true keeps serving.handler from its packages and from S3; use false, or an engine's own handler.",
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
