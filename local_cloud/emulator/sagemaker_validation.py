"""What SageMaker demands of a request before it looks at anything else."""

import re
from typing import Any

from local_cloud.emulator.execution_role import image_is_in_ecr
from local_cloud.emulator.sagemaker_store import InvalidRequestError

_NAME = r"[a-zA-Z0-9](-*[a-zA-Z0-9]){0,62}"
_VARIANT_RANGES = {
    "InitialInstanceCount": (1, None),
    "VolumeSizeInGB": (1, 512),
    "ModelDataDownloadTimeoutInSeconds": (60, 3600),
    "ContainerStartupHealthCheckTimeoutInSeconds": (60, 3600),
}


def required(request: dict[str, Any], member: str) -> Any:
    if request.get(member) in (None, "", []):
        raise _broken_rule("null", member, "Member must not be null")
    return request[member]


def _broken_rule(value: str, path: str, rule: str) -> InvalidRequestError:
    path = ".".join(part[:1].lower() + part[1:] for part in path.split("."))
    return InvalidRequestError(
        f"1 validation error detected: Value {value} at '{path}' failed to satisfy constraint: {rule}"
    )


def check_name(request: dict[str, Any], member: str) -> str:
    name = str(required(request, member))
    if not re.fullmatch(_NAME, name):
        raise _broken_rule(f"'{name}'", member, f"Member must satisfy regular expression pattern: {_NAME}")
    return name


def check_container(container: dict[str, Any]) -> None:
    image = required(container, "Image")
    if not image_is_in_ecr(image):
        raise InvalidRequestError(f'Using non-ECR image "{image}" without Vpc repository access mode is not supported.')
    environment = container.get("Environment", {})
    if len(environment) > 100 or any(len(text) > 1024 for pair in environment.items() for text in pair):
        rule = "At most 100 entries of at most 1024 characters"
        raise _broken_rule("'{...}'", "PrimaryContainer.Environment", rule)
    source = container.get("ModelDataSource", {}).get("S3DataSource", {"S3Uri": "/"})
    if source.get("S3DataType") == "S3Prefix" and not source["S3Uri"].endswith("/"):
        raise InvalidRequestError(
            f'The S3Uri "{source["S3Uri"]}" of a model data source of type S3Prefix must end with a slash.'
        )


def check_variant(variant: dict[str, Any]) -> None:
    if not required(variant, "InstanceType").startswith("ml."):
        path = "ProductionVariants.1.member.InstanceType"
        raise _broken_rule(f"'{variant['InstanceType']}'", path, "Member must satisfy enum value set")
    for member, (least, most) in _VARIANT_RANGES.items():
        value = int(variant.get(member, least))
        path = f"ProductionVariants.1.member.{member}"
        if value < least:
            raise _broken_rule(f"'{value}'", path, f"Member must have value greater than or equal to {least}")
        if most and value > most:
            raise _broken_rule(f"'{value}'", path, f"Member must have value less than or equal to {most}")
