"""SageMaker's hosting resources in CloudFormation templates."""

import secrets
from typing import Any

from local_cloud.emulator import sagemaker_hosting
from local_cloud.emulator.cloudformation import Provisioned, register_resource_type
from local_cloud.emulator.sagemaker_store import endpoint_configs, endpoints, models

_UPDATE_MEMBERS = ("EndpointConfigName", "DeploymentConfig", "RetainAllVariantProperties")


class ResourceFailedError(Exception):
    """An endpoint that did not reach the state its stack asks for."""


def _create_model(logical_id: str, properties: dict[str, Any], stack: str) -> Provisioned:
    name = properties.get("ModelName") or _generated_name(stack, logical_id)
    arn = sagemaker_hosting.create_model(properties | {"ModelName": name})["ModelArn"]
    return arn, {"ModelName": name}


def _keep_model(arn: str, old: dict[str, Any], new: dict[str, Any], stack: str) -> Provisioned:
    # Only its tags can change without a replacement, and nothing reads those.
    return arn, {"ModelName": _model_name(arn)}


def _delete_model(arn: str, properties: dict[str, Any]) -> None:
    if name := _model_name(arn):
        sagemaker_hosting.delete_model({"ModelName": name})


def _create_endpoint_config(logical_id: str, properties: dict[str, Any], stack: str) -> Provisioned:
    name = properties.get("EndpointConfigName") or _generated_name(stack, logical_id)
    arn = sagemaker_hosting.create_endpoint_config(properties | {"EndpointConfigName": name})["EndpointConfigArn"]
    return arn, {"EndpointConfigName": name}


def _keep_endpoint_config(arn: str, old: dict[str, Any], new: dict[str, Any], stack: str) -> Provisioned:
    # As of a model, only its tags can have changed.
    return arn, {"EndpointConfigName": _endpoint_config_name(arn)}


def _delete_endpoint_config(arn: str, properties: dict[str, Any]) -> None:
    if name := _endpoint_config_name(arn):
        sagemaker_hosting.delete_endpoint_config({"EndpointConfigName": name})


def _create_endpoint(logical_id: str, properties: dict[str, Any], stack: str) -> Provisioned:
    name = properties.get("EndpointName") or _generated_name(stack, logical_id)
    arn = sagemaker_hosting.create_endpoint(properties | {"EndpointName": name})["EndpointArn"]
    endpoint = endpoints[name]
    endpoint.wait_until_settled()
    if endpoint.status == "Failed":
        reason = endpoint.failure_reason
        # The engine forgets a resource whose creation failed, so it would stay behind after the rollback.
        _delete_endpoint(arn, properties)
        raise ResourceFailedError(reason)
    return arn, {"EndpointName": name}


def _update_endpoint(arn: str, old: dict[str, Any], new: dict[str, Any], stack: str) -> Provisioned:
    endpoint = next(endpoint for endpoint in endpoints.values() if endpoint.arn == arn)
    if any(old.get(member) != new.get(member) for member in ("EndpointConfigName", "DeploymentConfig")):
        endpoint.wait_until_settled()  # it may be scaled just now
        request = {member: new[member] for member in _UPDATE_MEMBERS if member in new}
        sagemaker_hosting.update_endpoint(request | {"EndpointName": endpoint.name})
        endpoint.wait_until_settled()
        if endpoint.failure_reason:
            raise ResourceFailedError(endpoint.failure_reason)
    return arn, {"EndpointName": endpoint.name}


def _delete_endpoint(arn: str, properties: dict[str, Any]) -> None:
    for endpoint in [endpoint for endpoint in endpoints.values() if endpoint.arn == arn]:
        endpoint.wait_until_settled()
        sagemaker_hosting.delete_endpoint({"EndpointName": endpoint.name})
        endpoint.wait_until_settled()
        endpoints.pop(endpoint.name, None)


def _model_name(arn: str) -> str:
    return next((name for name, model in models.items() if model["ModelArn"] == arn), "")


def _endpoint_config_name(arn: str) -> str:
    return next((name for name, config in endpoint_configs.items() if config["EndpointConfigArn"] == arn), "")


def _generated_name(stack: str, logical_id: str) -> str:
    return f"{logical_id[:40]}-{secrets.token_hex(6)}"


def install() -> None:
    register_resource_type(
        "AWS::SageMaker::Model",
        create=_create_model,
        update=_keep_model,
        delete=_delete_model,
        replaced_by=(
            "ModelName",
            "ExecutionRoleArn",
            "EnableNetworkIsolation",
            "PrimaryContainer",
            "Containers",
            "VpcConfig",
        ),
    )
    register_resource_type(
        "AWS::SageMaker::EndpointConfig",
        create=_create_endpoint_config,
        update=_keep_endpoint_config,
        delete=_delete_endpoint_config,
        replaced_by=(
            "EndpointConfigName",
            "AsyncInferenceConfig",
            "KmsKeyId",
            "ProductionVariants",
            "DataCaptureConfig",
            "VpcConfig",
        ),
    )
    register_resource_type(
        "AWS::SageMaker::Endpoint",
        create=_create_endpoint,
        update=_update_endpoint,
        delete=_delete_endpoint,
        replaced_by=("EndpointName",),
    )
