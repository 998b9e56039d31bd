"""SageMaker's hosting resources in CloudFormation templates."""

import secrets
from collections.abc import Callable
from typing import Any

from local_cloud.emulator.cloudformation.resource_types import Provisioned, add_update_event, register_resource_type
from local_cloud.emulator.core import ministack
from local_cloud.emulator.sagemaker import component_operations, control_plane
from local_cloud.emulator.sagemaker.components.adapter import Adapter
from local_cloud.emulator.sagemaker.components.component import Component
from local_cloud.emulator.sagemaker.components.endpoint import ComponentEndpoint
from local_cloud.emulator.sagemaker.endpoint import Endpoint
from local_cloud.emulator.sagemaker.store import adapters, components, endpoint_configs, endpoints, models

_UPDATE_MEMBERS = (
    "EndpointConfigName",
    "DeploymentConfig",
    "ExcludeRetainedVariantProperties",
    "RetainAllVariantProperties",
)
_COMPONENT_MEMBERS = ("DeploymentConfig", "RuntimeConfig", "Specification")


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
        _announce_watch(endpoint, stack)
        endpoint.wait_until_settled()
        if endpoint.failure_reason:
            raise ResourceFailedError(endpoint.failure_reason)
    return arn, {"EndpointName": endpoint.name}


def _announce_watch(endpoint: Endpoint | ComponentEndpoint, stack: str) -> None:
    if isinstance(endpoint, Endpoint) and endpoint.rollout and (seconds := round(endpoint.rollout.watched_seconds)):
        put_forward = f"""curl -X POST {ministack.own_endpoint_url()}/_slipway/clock -d '{{"seconds": {seconds}}}'"""
        add_update_event(
            stack,
            endpoint.arn,
            f"The alarms are watched for {seconds} s with old and new instances; to skip it: {put_forward}",
        )


def _delete_endpoint(arn: str, properties: dict[str, Any]) -> None:
    for endpoint in [endpoint for endpoint in endpoints.values() if endpoint.arn == arn]:
        control_plane.delete_endpoint({"EndpointName": endpoint.name})
        endpoint.wait_until_settled()
        endpoints.pop(endpoint.name, None)


def _create_component(logical_id: str, properties: dict[str, Any], stack: str) -> Provisioned:
    name = properties.get("InferenceComponentName") or _generated_name(logical_id)
    arn = component_operations.create_component(properties | {"InferenceComponentName": name})["InferenceComponentArn"]
    return arn, _attributes_of(_component_of(arn))


def _component_of(arn: str) -> Component | Adapter:
    found: Component | Adapter = next(each for each in [*components.values(), *adapters.values()] if each.arn == arn)
    return found


def _attributes_of(component: Component | Adapter) -> dict[str, Any]:
    return {"InferenceComponentArn": component.arn, "InferenceComponentName": component.name}


def _stabilize_component(arn: str) -> None:
    component = _component_of(arn)
    component.wait_until_settled()
    if component.status == "Failed":
        raise ResourceFailedError(component.failure_reason)


def _update_component(arn: str, old: dict[str, Any], new: dict[str, Any], stack: str) -> Provisioned:
    """Update a component. CloudFormation sends the copy count of the template again, whatever the count is."""
    component = _component_of(arn)
    for member in ("EndpointName", "InferenceComponentName", "VariantName"):
        if old.get(member) != new.get(member):
            raise ResourceFailedError(f"{member} of an inference component cannot be updated.")
    if any(old.get(member) != new.get(member) for member in _COMPONENT_MEMBERS):
        request = {member: new[member] for member in _COMPONENT_MEMBERS if member in new}
        component_operations.update_component(request | {"InferenceComponentName": component.name})
        component.wait_until_settled()
        if component.failure_reason:
            raise ResourceFailedError(component.failure_reason)
    return arn, _attributes_of(component)


def _delete_component(arn: str, properties: dict[str, Any]) -> None:
    for store in (components, adapters):
        for component in [each for each in store.values() if each.arn == arn]:
            component_operations.delete_component({"InferenceComponentName": component.name})
            component.wait_until_settled()
            store.pop(component.name, None)


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
    register_resource_type(
        "AWS::SageMaker::InferenceComponent",
        create=_create_component,
        stabilize=_stabilize_component,
        update=_update_component,
        delete=_delete_component,
        replaced_by=(),
    )
    _register_immutable(
        "EndpointConfig",
        endpoint_configs,
        control_plane.create_endpoint_config,
        control_plane.delete_endpoint_config,
        (
            "AsyncInferenceConfig",
            "DataCaptureConfig",
            "ExecutionRoleArn",
            "KmsKeyId",
            "ProductionVariants",
            "VpcConfig",
        ),
    )
    register_resource_type(
        "AWS::SageMaker::Endpoint",
        create=_create_endpoint,
        stabilize=_stabilize_endpoint,
        update=_update_endpoint,
        delete=_delete_endpoint,
        replaced_by=("EndpointName",),
    )
