"""SageMaker's control plane for inference components and for the endpoints that host them."""

from collections.abc import Callable
from typing import Any

from local_cloud.emulator.core import ministack
from local_cloud.emulator.sagemaker import adapter_operations
from local_cloud.emulator.sagemaker.components import faults
from local_cloud.emulator.sagemaker.components.component import Component, batch_size
from local_cloud.emulator.sagemaker.components.endpoint import ComponentEndpoint
from local_cloud.emulator.sagemaker.components.fleet import Fleet, quota_refusal
from local_cloud.emulator.sagemaker.components.hardware import hardware_of, required_hardware
from local_cloud.emulator.sagemaker.endpoint import Endpoint
from local_cloud.emulator.sagemaker.requests.validation import (
    InvalidRequestError,
    LimitExceededError,
    broken_rule,
    check_alarms,
    check_name,
    check_range,
    required,
)
from local_cloud.emulator.sagemaker.store import (
    adapters,
    adapters_of,
    arn_of,
    components,
    components_on,
    endpoints,
    find_component,
    find_endpoint,
    find_model,
    refuse_known_name,
)

_KIND = "inference-component"
_PAGE = 10
_LISTED = (
    "CreationTime",
    "EndpointArn",
    "EndpointName",
    "InferenceComponentArn",
    "InferenceComponentName",
    "InferenceComponentStatus",
    "LastModifiedTime",
    "VariantName",
)


def create_component(request: dict[str, Any]) -> dict[str, Any]:
    name = check_name(request, "InferenceComponentName")
    for store in (components, adapters):
        refuse_known_name(store, name, _KIND)
    if "BaseInferenceComponentName" in required(request, "Specification"):
        return adapter_operations.create_adapter(request, name)
    endpoint = _find_component_endpoint(required(request, "EndpointName"))
    specification = request["Specification"]
    if required(request, "VariantName") != endpoint.variant["VariantName"]:
        raise InvalidRequestError(f'Could not find variant "{request["VariantName"]}" of endpoint "{endpoint.arn}".')
    count = int(required(request, "RuntimeConfig").get("CopyCount", 0))
    if count < 1:
        raise InvalidRequestError("Inference components copy count an integer larger than 0")
    _check_specification(specification, endpoint.fleet)
    _demand_quota(endpoint.fleet, specification)
    where = {
        "endpoint": endpoint.name,
        "config": endpoint.config["EndpointConfigName"],
        "variant": endpoint.variant["VariantName"],
    }
    own = (name, arn_of(_KIND, name), list(request.get("Tags") or []))
    component = Component(*own, where, endpoint.fleet, specification, find_model(specification["ModelName"]), count)
    components[name] = component
    component.start()
    return {"InferenceComponentArn": component.arn}


def update_component(request: dict[str, Any]) -> dict[str, Any]:
    if request.get("InferenceComponentName") in adapters:
        return adapter_operations.update_adapter(request)
    component = _find_idle_component(request)
    specification = request.get("Specification") or component.specification
    count = int((request.get("RuntimeConfig") or {}).get("CopyCount", component.desired_count))
    deployment = request.get("DeploymentConfig") or {}
    check_alarms(deployment)
    _check_specification(specification, component.fleet)
    if deployment:
        _check_batch(deployment, count)
    if specification == component.specification:
        component.scale_to(count)
    else:
        component.update(specification, find_model(specification["ModelName"]), count, deployment)
    return {"InferenceComponentArn": component.arn}


def update_runtime_config(request: dict[str, Any]) -> dict[str, Any]:
    component = _find_idle_component(request)
    count = int(required(request, "DesiredRuntimeConfig")["CopyCount"])
    check_range(count, "DesiredRuntimeConfig.CopyCount", 0, None)
    if count > component.current_count:
        _demand_quota(component.fleet, component.specification)
    component.scale_to(count)
    return {"InferenceComponentArn": component.arn}


def delete_component(request: dict[str, Any]) -> dict[str, Any]:
    if request.get("InferenceComponentName") in adapters:
        return adapter_operations.delete_adapter(request)
    component = find_component(required(request, "InferenceComponentName"))
    _refuse_busy(component)
    if mine := adapters_of(component.name):
        raise InvalidRequestError(
            f'Cannot delete inference component "{component.arn}" while adapters have it as their base: '
            f"{', '.join(adapter.name for adapter in mine)}."
        )
    component.delete()
    ministack.in_background(_forget, component, name=f"delete {component.name}")
    return {}


def _forget(component: Component) -> None:
    component.wait_until_settled()
    components.pop(component.name, None)


def _describe(request: dict[str, Any]) -> dict[str, Any]:
    name = required(request, "InferenceComponentName")
    described = (adapters[name] if name in adapters else find_component(name)).describe()
    return described | {"EndpointArn": arn_of("endpoint", described["EndpointName"])}


def _list(request: dict[str, Any]) -> dict[str, Any]:
    described = [_describe({"InferenceComponentName": name}) for name in [*components, *adapters]]
    found = [
        {member: each[member] for member in _LISTED}
        for each in described
        if request.get("EndpointNameEquals") in (None, each["EndpointName"])
        and request.get("StatusEquals") in (None, each["InferenceComponentStatus"])
        and request.get("NameContains", "") in each["InferenceComponentName"]
    ]
    start = int(request.get("NextToken") or 0)
    end = start + int(request.get("MaxResults") or _PAGE)
    return {"InferenceComponents": found[start:end], **({"NextToken": str(end)} if end < len(found) else {})}


def update_endpoint(endpoint: Endpoint | ComponentEndpoint, config: dict[str, Any]) -> dict[str, Any]:
    """Give an idle endpoint another configuration, if both are for components."""
    if isinstance(endpoint, Endpoint) or "ModelName" in config["ProductionVariants"][0]:
        # Our assumption: AWS documents no way between the two kinds.
        raise InvalidRequestError(
            f'The endpoint "{endpoint.arn}" cannot be updated between a configuration with a model and one for '
            "inference components."
        )
    if config["ProductionVariants"][0]["VariantName"] != endpoint.variant["VariantName"]:
        raise InvalidRequestError(
            f'The variant of endpoint "{endpoint.arn}" cannot be renamed while it hosts inference components.'
        )
    mine = components_on(endpoint.name)
    for component in mine:
        if not component.is_idle:
            raise InvalidRequestError(f'Cannot update endpoint with in-progress inference component "{component.arn}".')
    endpoint.update(config, mine)
    return {"EndpointArn": endpoint.arn}


def list_instances() -> dict[str, Any]:
    """The instances of component endpoints and their free hardware, beside the faults that tests ordered."""
    hosts = [
        {
            "endpoint": endpoint.name,
            "instance": host.id,
            "type": host.type,
            "copies": host.copies,
            "free": host.free._asdict(),
        }
        for _, _, endpoint in ministack.in_all_scopes(endpoints)
        if isinstance(endpoint, ComponentEndpoint)
        for host in list(endpoint.fleet.hosts)
    ]
    return {"instances": hosts, **faults.show()}


OPERATIONS: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "CreateInferenceComponent": create_component,
    "DescribeInferenceComponent": _describe,
    "UpdateInferenceComponent": update_component,
    "UpdateInferenceComponentRuntimeConfig": update_runtime_config,
    "DeleteInferenceComponent": delete_component,
    "ListInferenceComponents": _list,
}


def _find_component_endpoint(name: str) -> ComponentEndpoint:
    endpoint = find_endpoint(name)
    if not isinstance(endpoint, ComponentEndpoint):
        raise InvalidRequestError(
            f'The endpoint "{endpoint.arn}" has a model in its configuration; it cannot host inference components.'
        )
    if endpoint.status != "InService":
        raise InvalidRequestError(f'Endpoint "{endpoint.arn}" is in status {endpoint.status}, not InService.')
    return endpoint


def _find_idle_component(request: dict[str, Any]) -> Component:
    component = find_component(required(request, "InferenceComponentName"))
    _refuse_busy(component)
    return component


def _refuse_busy(component: Component) -> None:
    if not component.is_idle:
        raise InvalidRequestError(f'Cannot update in-progress inference component "{component.arn}".')


def _check_specification(specification: dict[str, Any], fleet: Fleet) -> None:
    path = "Specification.ComputeResourceRequirements"
    if "ModelName" not in specification:
        raise broken_rule("null", "Specification.ModelName", "Member must not be null")
    find_model(specification["ModelName"])
    needs = required(specification, "ComputeResourceRequirements")
    check_range(int(required(needs, "MinMemoryRequiredInMb")), f"{path}.MinMemoryRequiredInMb", 128, None)
    for member, seconds in (specification.get("StartupParameters") or {}).items():
        check_range(int(seconds), f"Specification.StartupParameters.{member}", 60, 3600)
    part, whole = required_hardware(needs), hardware_of(fleet.type)
    if not whole.holds(part):
        raise InvalidRequestError(f"A copy needs {part}, but an instance of type {fleet.type} has {whole} to give.")


def _check_batch(deployment: dict[str, Any], count: int) -> None:
    policy = required(deployment, "RollingUpdatePolicy")
    share = batch_size(policy, count) / max(count, 1)
    if not 0.05 <= share <= 0.5:
        raise InvalidRequestError(
            f"The MaximumBatchSize of the RollingUpdatePolicy must be between 5% and 50% of the copy count, {count}."
        )


def _demand_quota(fleet: Fleet, specification: dict[str, Any]) -> None:
    part = required_hardware(specification["ComputeResourceRequirements"])
    if fleet.needs_instance(part) and faults.take("quota"):
        raise LimitExceededError(quota_refusal(fleet.type, len(fleet.hosts)))
