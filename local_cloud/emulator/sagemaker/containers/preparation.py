"""Prepares a model's container: the permissions of its role, its settings and its model data."""

from dataclasses import replace
from typing import Any

from local_cloud.emulator.sagemaker.containers.execution_role import demand_permission_to_pull
from local_cloud.emulator.sagemaker.containers.instance import ContainerSpec, ContainerStartError
from local_cloud.emulator.sagemaker.containers.model_data import fetch_model_data
from local_cloud.emulator.vpc.network import Place

DEFAULT_STARTUP_SECONDS = 480
_LOADING = "SLIPWAY_LOCAL_STARTUP_SECONDS"


def prepare(model: dict[str, Any], startup_seconds: float, **where: Any) -> ContainerSpec:
    """The container of a model, with its data downloaded; raises ContainerStartError.

    where: the other members of ContainerSpec, such as the endpoint's name.
    """
    role_arn, container = model["ExecutionRoleArn"], model["PrimaryContainer"]
    demand_permission_to_pull(role_arn, container["Image"])
    environment = dict(container.get("Environment", {}))
    place = place_of(model)
    demand_way_to_data(place, container.get("ModelDataSource", {}).get("S3DataSource"))
    return ContainerSpec(
        role_arn=role_arn,
        place=replace(place, is_isolated=True) if place and model.get("EnableNetworkIsolation") else place,
        image=container["Image"],
        loading_seconds=_loading_seconds(environment.pop(_LOADING, "0")),
        environment=environment,
        startup_seconds=startup_seconds,
        model_folder=fetch_model_data(role_arn, container),
        **where,
    )


def place_of(model: dict[str, Any]) -> Place | None:
    """Where a model's containers stand; None = in SageMaker's own network."""
    vpc = model.get("VpcConfig") or {}
    if vpc:
        return Place(tuple(vpc["Subnets"]), tuple(vpc["SecurityGroupIds"]))
    return Place((), ()) if model.get("EnableNetworkIsolation") else None


def demand_way_to_data(place: Place | None, source: dict[str, Any] | None) -> None:
    """Raise ContainerStartError unless SageMaker reaches S3 through the VPC; isolation does not hold for SageMaker."""
    if place and place.subnet_ids and source and not place.way_to("s3")[0]:
        raise ContainerStartError(
            f'Failed to download model data from URL "{source["S3Uri"]}". Please ensure that an S3 VPC endpoint exists '
            "in route table or NAT gateway for the VPC mode and the URL is reachable from within the subnets provided."
        )


def _loading_seconds(given: str) -> float:
    try:
        return float(given)
    except ValueError:
        raise ContainerStartError(f"{_LOADING}: {given!r} is not a number of seconds") from None
