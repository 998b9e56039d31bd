"""SageMaker's hosting resources in CloudFormation templates."""

import secrets
from collections.abc import Callable
from typing import Any

from local_cloud.emulator.cloudformation.resource_types import Provisioned, add_update_event, register_resource_type
from local_cloud.emulator.core import ministack
from local_cloud.emulator.sagemaker import control_plane
from local_cloud.emulator.sagemaker.store import endpoint_configs, endpoints, models

_UPDATE_MEMBERS = (
    "EndpointConfigName",
    "DeploymentConfig",
    "ExcludeRetainedVariantProperties",
    "RetainAllVariantProperties",
)


class ResourceFailedError(Exception):
    """An endpoint that did not reach the state that its stack needs."""


def _create_endpoint(logical_id: str, properties: dict[str, Any], stack: str) -> Provisioned:
    name = properties.get("EndpointName") or _generated_name(logical_id)
    arn = control_plane.create_endpoint(properties | {"EndpointName": name})["EndpointArn"]
    return arn, {"EndpointName": name}


def _stabilize_endpoint(arn: str) -> None:
    endpoint = next(endpoint for endpoint in endpoints.values() if endpoint.arn == arn)
    endpoint.wait_until_settled()
    if endpoint.status == "Failed":
        raise ResourceFailedError(endpoint.failure_reason)


def _update_endpoint(arn: str, old: dict[str, Any], new: dict[str, Any], stack: str) -> Provisioned:
    """Update an endpoint. A rollback without a FailureReason counts as success, as far as reports from AWS tell."""
    endpoint = next(endpoint for endpoint in endpoints.values() if endpoint.arn == arn)
    if any(old.get(member) != new.get(member) for member in _UPDATE_MEMBERS):
        request = {member: new[member] for member in _UPDATE_MEMBERS if member in new}
        control_plane.update_endpoint(request | {"EndpointName": endpoint.name})
        _announce_watch(arn, new, stack)
        endpoint.wait_until_settled()
        if endpoint.failure_reason:
            raise ResourceFailedError(endpoint.failure_reason)
    return arn, {"EndpointName": endpoint.name}


def _announce_watch(arn: str, properties: dict[str, Any], stack: str) -> None:
    policy = (properties.get("DeploymentConfig") or {}).get("BlueGreenUpdatePolicy") or {}
    if seconds := int(policy.get("TerminationWaitInSeconds", 0)):
        put_forward = f"""curl -X POST {ministack.own_endpoint_url()}/_slipway/clock -d '{{"seconds": {seconds}}}'"""
        add_update_event(
            stack, arn, f"The alarms are watched for {seconds} s with old and new instances; to skip it: {put_forward}"
        )


def _delete_endpoint(arn: str, properties: dict[str, Any]) -> None:
    for endpoint in [endpoint for endpoint in endpoints.values() if endpoint.arn == arn]:
        control_plane.delete_endpoint({"EndpointName": endpoint.name})
        endpoint.wait_until_settled()
        endpoints.pop(endpoint.name, None)


def _generated_name(logical_id: str) -> str:
    return f"{logical_id[:40]}-{secrets.token_hex(6)}"


def _register_immutable(
    noun: str,
    store: Any,
    create: Callable[[dict[str, Any]], dict[str, Any]],
    delete: Callable[[dict[str, Any]], dict[str, Any]],
    replaced_by: tuple[str, ...],
) -> None:
    """Register a type that is replaced by every change except one of its tags, which nothing reads."""
    member = f"{noun}Name"

    def create_resource(logical_id: str, properties: dict[str, Any], stack: str) -> Provisioned:
        name = properties.get(member) or _generated_name(logical_id)
        return create(properties | {member: name})[f"{noun}Arn"], {member: name}

    def name_of(arn: str) -> str:
        return next((name for name, each in store.items() if each[f"{noun}Arn"] == arn), "")

    def keep_resource(arn: str, old: dict[str, Any], new: dict[str, Any], stack: str) -> Provisioned:
        return arn, {member: name_of(arn)}

    def delete_resource(arn: str, properties: dict[str, Any]) -> None:
        if name := name_of(arn):
            delete({member: name})

    register_resource_type(
        f"AWS::SageMaker::{noun}",
        create=create_resource,
        update=keep_resource,
        delete=delete_resource,
        replaced_by=(member, *replaced_by),
    )


def install() -> None:
    _register_immutable(
        "Model",
        models,
        control_plane.create_model,
        control_plane.delete_model,
        ("ExecutionRoleArn", "EnableNetworkIsolation", "PrimaryContainer", "Containers", "VpcConfig"),
    )
    _register_immutable(
        "EndpointConfig",
        endpoint_configs,
        control_plane.create_endpoint_config,
        control_plane.delete_endpoint_config,
        ("AsyncInferenceConfig", "KmsKeyId", "ProductionVariants", "DataCaptureConfig", "VpcConfig"),
    )
    register_resource_type(
        "AWS::SageMaker::Endpoint",
        create=_create_endpoint,
        stabilize=_stabilize_endpoint,
        update=_update_endpoint,
        delete=_delete_endpoint,
        replaced_by=("EndpointName",),
    )
