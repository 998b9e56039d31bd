"""Rules over `api`, and over the ARNs that a deployment names."""

from collections.abc import Iterator

from ..deployment import Deployment
from .finding import error, warning


@error
def quota_needs_api_key(deployment: Deployment) -> Iterator[tuple[str, str]]:
    """API Gateway counts quotas per API key."""
    if deployment.api.quota and deployment.api.auth != "api-key":
        yield "api.quota", f"needs api.auth: api-key, not {deployment.api.auth}; change one of them."


@warning
def shared_secret(deployment: Deployment) -> Iterator[tuple[str, str]]:
    """An API key identifies nobody."""
    if deployment.api.auth == "api-key":
        yield (
            "api.auth",
            "'api-key' is a shared secret: whoever holds it can call; prefer iam where callers have AWS credentials.",
        )


@warning
def open_to_the_internet(deployment: Deployment) -> Iterator[tuple[str, str]]:
    """Without authorization anybody can spend the GPU."""
    if deployment.api.auth == "none":
        yield "api.auth", "'none' opens the API to everybody on the internet; only the throttle limits what they spend."


@error
def arns_are_in_region(deployment: Deployment) -> Iterator[tuple[str, str]]:
    """Alarms notify topics, and SageMaker uses keys, of their own region only."""
    for field, region in _regions_of_arns(deployment):
        if deployment.region and region != deployment.region:
            yield field, f"is in {region}, the deployment in {deployment.region}; use one of that region."


@warning
def arns_pin_the_region(deployment: Deployment) -> Iterator[tuple[str, str]]:
    """A template for every region that names an ARN works in one."""
    for field, region in _regions_of_arns(deployment):
        if deployment.region is None:
            yield field, f"exists in {region} only, so the deployment works there only: set region: {region}."


def _regions_of_arns(deployment: Deployment) -> Iterator[tuple[str, str]]:
    arns = {
        "alarms.topic_arn": deployment.alarms.topic_arn,
        "model.weights_kms_key_arn": deployment.model.weights_kms_key_arn,
        "hosting.volume_kms_key_arn": deployment.hosting.volume_kms_key_arn,
    }
    for field, arn in arns.items():
        if arn:
            yield field, arn.split(":")[3]
