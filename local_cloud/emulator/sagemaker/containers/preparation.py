"""Prepares a model's container: the permissions of its role, its settings and its model data."""

from typing import Any

from local_cloud.emulator.sagemaker.containers.execution_role import demand_permission_to_pull
from local_cloud.emulator.sagemaker.containers.instance import ContainerSpec, ContainerStartError
from local_cloud.emulator.sagemaker.containers.model_data import fetch_model_data

DEFAULT_STARTUP_SECONDS = 480
_LOADING = "SLIPWAY_LOCAL_STARTUP_SECONDS"


def prepare(model: dict[str, Any], startup_seconds: float, **where: Any) -> ContainerSpec:
    """The container of a model, with its data downloaded; raises ContainerStartError.

    where: the other members of ContainerSpec, such as the endpoint's name.
    """
    role_arn, container = model["ExecutionRoleArn"], model["PrimaryContainer"]
    demand_permission_to_pull(role_arn, container["Image"])
    environment = dict(container.get("Environment", {}))
    return ContainerSpec(
        role_arn=role_arn,
        image=container["Image"],
        loading_seconds=_loading_seconds(environment.pop(_LOADING, "0")),
        environment=environment,
        startup_seconds=startup_seconds,
        model_folder=fetch_model_data(role_arn, container),
        **where,
    )


def _loading_seconds(given: str) -> float:
    try:
        return float(given)
    except ValueError:
        raise ContainerStartError(f"{_LOADING}: {given!r} is not a number of seconds") from None
