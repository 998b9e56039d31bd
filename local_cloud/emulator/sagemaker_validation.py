"""What SageMaker demands of a request before it looks at anything else."""

import re
from typing import Any

from local_cloud.emulator.execution_role import image_is_in_ecr
from local_cloud.emulator.invalid_request import InvalidRequestError, broken_rule

_NAME = r"[a-zA-Z0-9](-*[a-zA-Z0-9]){0,62}"
_S3_PATH = r"(https|s3)://([^/]+)/?(.*)"
_TOPIC = r"arn:aws[a-z\-]*:sns:[a-z0-9\-]*:[0-9]{12}:[a-zA-Z0-9_.-]+"
_TOPICS_WITH_RESPONSE = {"SUCCESS_NOTIFICATION_TOPIC", "ERROR_NOTIFICATION_TOPIC"}
_VARIANT_RANGES = {
    "InitialInstanceCount": (1, None),
    "VolumeSizeInGB": (1, 512),
    "ModelDataDownloadTimeoutInSeconds": (60, 3600),
    "ContainerStartupHealthCheckTimeoutInSeconds": (60, 3600),
}


def required(request: dict[str, Any], member: str) -> Any:
    if request.get(member) in (None, "", []):
        raise broken_rule("null", member, "Member must not be null")
    return request[member]


def check_name(request: dict[str, Any], member: str) -> str:
    name = str(required(request, member))
    if not re.fullmatch(_NAME, name):
        raise broken_rule(f"'{name}'", member, f"Member must satisfy regular expression pattern: {_NAME}")
    return name


def check_container(container: dict[str, Any]) -> None:
    image = required(container, "Image")
    if not image_is_in_ecr(image):
        raise InvalidRequestError(f'Using non-ECR image "{image}" without Vpc repository access mode is not supported.')
    environment = container.get("Environment", {})
    if len(environment) > 100 or any(len(text) > 1024 for pair in environment.items() for text in pair):
        rule = "At most 100 entries of at most 1024 characters"
        raise broken_rule("'{...}'", "PrimaryContainer.Environment", rule)
    source = container.get("ModelDataSource", {}).get("S3DataSource", {"S3Uri": "/"})
    if source.get("S3DataType") == "S3Prefix" and not source["S3Uri"].endswith("/"):
        raise InvalidRequestError(
            f'The S3Uri "{source["S3Uri"]}" of a model data source of type S3Prefix must end with a slash.'
        )


def check_variant(variant: dict[str, Any]) -> None:
    pools = variant.get("InstancePools") or []
    if pools and "InstanceType" in variant:
        raise InvalidRequestError("You must specify either InstanceType or InstancePools for a variant, not both.")
    for pool in pools:
        _check_range(int(required(pool, "Priority")), "ProductionVariants.1.member.InstancePools.Priority", 1, 5)
    for instance_type in instance_types(variant):
        if not instance_type.startswith("ml."):
            path = "ProductionVariants.1.member.InstanceType"
            raise broken_rule(f"'{instance_type}'", path, "Member must satisfy enum value set")
    for member, (least, most) in _VARIANT_RANGES.items():
        _check_range(int(variant.get(member, least)), f"ProductionVariants.1.member.{member}", least, most)


def instance_types(variant: dict[str, Any]) -> list[str]:
    """The type of a variant, or those of its instance pools, best first."""
    pools = variant.get("InstancePools") or [{"InstanceType": required(variant, "InstanceType"), "Priority": 1}]
    return [required(pool, "InstanceType") for pool in sorted(pools, key=lambda pool: int(pool["Priority"]))]


def check_async_config(config: dict[str, Any]) -> None:
    output, client = required(config, "OutputConfig"), config.get("ClientConfig") or {}
    path = "AsyncInferenceConfig.OutputConfig"
    _check_pattern(required(output, "S3OutputPath"), f"{path}.S3OutputPath", _S3_PATH)
    _check_pattern(output.get("S3FailurePath"), f"{path}.S3FailurePath", _S3_PATH)
    notifications = output.get("NotificationConfig") or {}
    for topic in ("SuccessTopic", "ErrorTopic"):
        _check_pattern(notifications.get(topic), f"{path}.NotificationConfig.{topic}", _TOPIC)
    included = notifications.get("IncludeInferenceResponseIn") or []
    if not set(included) <= _TOPICS_WITH_RESPONSE:
        member = f"{path}.NotificationConfig.IncludeInferenceResponseIn"
        raise broken_rule(str(included), member, f"Member must satisfy enum value set: {sorted(_TOPICS_WITH_RESPONSE)}")
    most = client.get("MaxConcurrentInvocationsPerInstance", 1)
    _check_range(int(most), "AsyncInferenceConfig.ClientConfig.MaxConcurrentInvocationsPerInstance", 1, 1000)


def _check_pattern(value: str | None, path: str, pattern: str) -> None:
    if value is not None and not re.fullmatch(pattern, value):
        raise broken_rule(f"'{value}'", path, f"Member must satisfy regular expression pattern: {pattern}")


def _check_range(value: int, path: str, least: int, most: int | None) -> None:
    if value < least:
        raise broken_rule(f"'{value}'", path, f"Member must have value greater than or equal to {least}")
    if most and value > most:
        raise broken_rule(f"'{value}'", path, f"Member must have value less than or equal to {most}")
