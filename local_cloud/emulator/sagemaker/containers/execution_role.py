"""Checks the permissions of a model's execution role that SageMaker needs before a container runs."""

import re
from typing import Any

from local_cloud.emulator.kms.permission import CREATE_GRANT, FOR_AWS, KEY_ACTIONS, role_may
from local_cloud.emulator.sagemaker.containers.instance import ContainerStartError
from local_cloud.emulator.services import iam

_IMAGE = re.compile(
    r"(\d{12})\.dkr\.ecr\.([a-z0-9-]+)\.amazonaws\.com(?:\.cn)?/([a-z0-9._/-]+)(?::[\w.-]+|@sha256:\w+)"
)
_PULL_ACTIONS = ("BatchCheckLayerAvailability", "BatchGetImage", "GetDownloadUrlForLayer")


def image_is_in_ecr(image: str) -> bool:
    return _IMAGE.fullmatch(image) is not None


def demand_permission_to_pull(role_arn: str, image: str) -> None:
    """Raise ContainerStartError unless the role may pull the image from its repository."""
    match = _IMAGE.fullmatch(image)
    assert match is not None
    account, region, repository = match.groups()
    wanted = [(action, f"arn:aws:ecr:{region}:{account}:repository/{repository}") for action in _PULL_ACTIONS]
    for action, resource in [("GetAuthorizationToken", "*"), *wanted]:
        if not iam.role_may(role_arn, f"ecr:{action}", resource):
            raise ContainerStartError(
                f"The role '{role_arn}' does not have {action} permission for the image: '{image}'."
            )


def demand_permission_to_publish(role_arn: str, asynchronous: dict[str, Any]) -> None:
    """Raise ContainerStartError unless the role may publish to the topics of an AsyncInferenceConfig."""
    notifications = asynchronous.get("OutputConfig", {}).get("NotificationConfig") or {}
    for topic in (notifications.get("SuccessTopic"), notifications.get("ErrorTopic")):
        if topic and not iam.role_may(role_arn, "sns:Publish", topic):
            raise ContainerStartError(
                f"The provided role '{role_arn}' is invalid. Please ensure the role exists, that its trust "
                'relationship policy allows the action "sts:AssumeRole" for the service principal '
                f'"sagemaker.amazonaws.com", and has "sns:Publish" permissions for topic "{topic}".'
            )


def demand_permission_on_volumes(role_arn: str, config: dict[str, Any]) -> None:
    """Raise ContainerStartError unless the role may let SageMaker use the key of a configuration's volumes."""
    key = config.get("KmsKeyId")
    if key and not role_may(role_arn, key, CREATE_GRANT, FOR_AWS):
        raise ContainerStartError(f"The role '{role_arn}' may not create a grant on the key '{key}' of the volumes.")


def demand_permission_on_results(role_arn: str, asynchronous: dict[str, Any]) -> None:
    """Raise ContainerStartError unless the role may use the key of an AsyncInferenceConfig's results."""
    key = asynchronous.get("OutputConfig", {}).get("KmsKeyId")
    if key and not role_may(role_arn, key, KEY_ACTIONS, {}):
        raise ContainerStartError(f"The role '{role_arn}' may not use the key '{key}' of the results.")
