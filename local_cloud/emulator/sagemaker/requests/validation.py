"""SageMaker's checks of a request's members, with its error messages."""

import re
from typing import Any

from local_cloud.emulator.sagemaker.containers.execution_role import image_is_in_ecr
from local_cloud.emulator.services import cloudwatch

_NAME = r"[a-zA-Z0-9](-*[a-zA-Z0-9]){0,62}"
_S3_PATH = r"(https|s3)://([^/]+)/?(.*)"
_VARIANT_RANGES = {
    "InitialInstanceCount": (1, None),
    "VolumeSizeInGB": (1, 512),
    "ModelDataDownloadTimeoutInSeconds": (60, 3600),
    "ContainerStartupHealthCheckTimeoutInSeconds": (60, 3600),
}


class InvalidRequestError(Exception):
    """A refusal with SageMaker's message; the code is ValidationException, in the runtime API ValidationError."""


class LimitExceededError(InvalidRequestError):
    """A refusal because of a quota; the code is ResourceLimitExceeded."""


def broken_rule(value: str, path: str, rule: str) -> InvalidRequestError:
    """The error for a wrong value of a member."""
    path = ".".join(part[:1].lower() + part[1:] for part in path.split("."))
    return InvalidRequestError(
        f"1 validation error detected: Value {value} at '{path}' failed to satisfy constraint: {rule}"
    )


def required(request: dict[str, Any], member: str) -> Any:
    if request.get(member) in (None, "", []):
        raise broken_rule("null", member, "Member must not be null")
    return request[member]


def check_pattern(value: str | None, path: str, pattern: str) -> None:
    if value is not None and not re.fullmatch(pattern, value):
        raise broken_rule(f"'{value}'", path, f"Member must satisfy regular expression pattern: {pattern}")


def check_range(value: int, path: str, least: int, most: int | None) -> None:
    if value < least:
        raise broken_rule(f"'{value}'", path, f"Member must have value greater than or equal to {least}")
    if most and value > most:
        raise broken_rule(f"'{value}'", path, f"Member must have value less than or equal to {most}")


def check_name(request: dict[str, Any], member: str) -> str:
    name = str(required(request, member))
    check_pattern(name, member, _NAME)
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
    if "ModelName" in variant and "ManagedInstanceScaling" in variant:
        raise InvalidRequestError("ManagedInstanceScaling is only supported for inference component endpoints.")
    if not instance_types(variant):
        raise broken_rule("null", "ProductionVariants.1.member.InstanceType", "Member must not be null")
    for member, (least, most) in _VARIANT_RANGES.items():
        check_range(int(variant.get(member, least)), f"ProductionVariants.1.member.{member}", least, most)


def check_component_variant(request: dict[str, Any], variant: dict[str, Any]) -> None:
    """Check a CreateEndpointConfig without a model, for inference components."""
    if not request.get("ExecutionRoleArn"):
        raise InvalidRequestError(
            "An ExecutionRoleArn is required in the endpoint configuration of an endpoint for inference components."
        )
    for member in ("AsyncInferenceConfig", "DataCaptureConfig"):
        if member in request:
            raise InvalidRequestError(f"{member} is not supported for inference component endpoints.")
    scaling = variant.get("ManagedInstanceScaling") or {}
    if scaling.get("Status") != "ENABLED":
        return
    path = "ProductionVariants.1.member.ManagedInstanceScaling"
    least = int(required(scaling, "MinInstanceCount") if scaling.get("MinInstanceCount") != 0 else 0)
    most = int(required(scaling, "MaxInstanceCount"))
    check_range(least, f"{path}.MinInstanceCount", 0, most)
    initial = "ProductionVariants.1.member.InitialInstanceCount"
    check_range(int(variant["InitialInstanceCount"]), initial, max(least, 1), most)
    policy = scaling.get("ScaleInPolicy") or {}
    check_range(int(policy.get("CooldownInMinutes", 5)), f"{path}.ScaleInPolicy.CooldownInMinutes", 5, 1440)
    check_range(int(policy.get("MaximumStepSize", 1)), f"{path}.ScaleInPolicy.MaximumStepSize", 1, 100)


def check_alarms(deployment: dict[str, Any]) -> None:
    """Refuse the alarms of a DeploymentConfig that do not exist."""
    names = [alarm["AlarmName"] for alarm in (deployment.get("AutoRollbackConfiguration") or {}).get("Alarms", [])]
    missing = sorted(set(names) - cloudwatch.known_alarms())
    if missing:
        raise InvalidRequestError(f"The alarms {missing} of the AutoRollbackConfiguration do not exist.")


def instance_types(variant: dict[str, Any]) -> list[str]:
    """The variant's instance type, or the types of its instance pools in order of priority."""
    if "InstanceType" in variant:
        return [variant["InstanceType"]]
    return [
        pool["InstanceType"] for pool in sorted(variant.get("InstancePools", []), key=lambda each: each["Priority"])
    ]


def check_async_config(config: dict[str, Any]) -> None:
    output, path = required(config, "OutputConfig"), "AsyncInferenceConfig.OutputConfig"
    check_pattern(required(output, "S3OutputPath"), f"{path}.S3OutputPath", _S3_PATH)
    check_pattern(output.get("S3FailurePath"), f"{path}.S3FailurePath", _S3_PATH)
