"""SageMaker's control plane for hosting: models, endpoint configurations and endpoints."""

import json
import os
import time
from collections.abc import Callable, Iterator
from typing import Any

from local_cloud.emulator.core import clock, ministack
from local_cloud.emulator.core.routing import register_service
from local_cloud.emulator.sagemaker import component_operations
from local_cloud.emulator.sagemaker.components import faults
from local_cloud.emulator.sagemaker.components.endpoint import ComponentEndpoint
from local_cloud.emulator.sagemaker.containers.instance_group import list_containers
from local_cloud.emulator.sagemaker.endpoint import Endpoint
from local_cloud.emulator.sagemaker.requests.deployment_config import check_batch, rollout_of
from local_cloud.emulator.sagemaker.requests.validation import (
    InvalidRequestError,
    LimitExceededError,
    check_alarms,
    check_async_config,
    check_component_variant,
    check_container,
    check_name,
    check_variant,
    instance_types,
    required,
)
from local_cloud.emulator.sagemaker.store import (
    adapters,
    arn_of,
    components,
    components_on,
    endpoint_configs,
    endpoints,
    find_endpoint,
    find_endpoint_config,
    find_model,
    models,
    refuse_known_name,
)
from local_cloud.emulator.services import iam

_tagging = ministack.internals("ministack.services.tagging", "_COLLECTORS")

_CONTENT_TYPE = "application/x-amz-json-1.1"


def create_model(request: dict[str, Any]) -> dict[str, Any]:
    name = check_name(request, "ModelName")
    refuse_known_name(models, name, "model")
    role_arn, container = required(request, "ExecutionRoleArn"), required(request, "PrimaryContainer")
    _demand_trust(role_arn)
    check_container(container)
    return _store(models, request, name, "Model", "model")


def _demand_trust(role_arn: str) -> None:
    # SageMaker's guide names this source for inference: an ARN that ends in a star, without aws:SourceAccount.
    source = f"arn:aws:sagemaker:{ministack.region()}:{ministack.account_id()}:*"
    if not iam.role_trusts(role_arn, "sagemaker.amazonaws.com", {"aws:sourcearn": source}):
        raise InvalidRequestError(
            f"Could not assume role {role_arn}. Please ensure that the role exists and allows principal "
            "'sagemaker.amazonaws.com' to assume the role."
        )


def create_endpoint_config(request: dict[str, Any]) -> dict[str, Any]:
    name = check_name(request, "EndpointConfigName")
    refuse_known_name(endpoint_configs, name, "endpoint-config")
    variants = required(request, "ProductionVariants")
    if len(variants) != 1 or "ServerlessConfig" in variants[0]:
        raise InvalidRequestError("The local cloud hosts endpoints with one production variant on instances only.")
    check_variant(variants[0])
    if "ModelName" in variants[0]:
        find_model(variants[0]["ModelName"])
    else:
        check_component_variant(request, variants[0])
        _demand_trust(request["ExecutionRoleArn"])
    if "AsyncInferenceConfig" in request:
        check_async_config(request["AsyncInferenceConfig"])
    return _store(endpoint_configs, request, name, "EndpointConfig", "endpoint-config")


def create_endpoint(request: dict[str, Any]) -> dict[str, Any]:
    name = check_name(request, "EndpointName")
    refuse_known_name(endpoints, name, "endpoint")
    config = find_endpoint_config(required(request, "EndpointConfigName"))
    check_alarms(request.get("DeploymentConfig", {}))
    rollout_of(request.get("DeploymentConfig") or {}, int(config["ProductionVariants"][0]["InitialInstanceCount"]))
    own = (name, arn_of("endpoint", name), list(request.get("Tags") or []), config)
    model = config["ProductionVariants"][0].get("ModelName")
    endpoint = Endpoint(*own, find_model(model)) if model else ComponentEndpoint(*own)
    endpoints[name] = endpoint
    endpoint.start()
    return {"EndpointArn": endpoint.arn}


def update_endpoint(request: dict[str, Any]) -> dict[str, Any]:
    endpoint = _find_idle_endpoint(request)
    config = find_endpoint_config(required(request, "EndpointConfigName"))
    if config["EndpointConfigName"] == endpoint.config["EndpointConfigName"]:
        # API reference: "To update an endpoint, you must create a new EndpointConfig." AWS may accept the
        # same one and start a second set of instances.
        raise InvalidRequestError(
            f'The endpoint "{endpoint.arn}" runs the configuration "{config["EndpointConfigName"]}" already; an update '
            "needs a new one."
        )
    deployment = request.get("DeploymentConfig") or {}
    check_alarms(deployment)
    if isinstance(endpoint, ComponentEndpoint) or "ModelName" not in config["ProductionVariants"][0]:
        return component_operations.update_endpoint(endpoint, config)
    variant, old = config["ProductionVariants"][0], endpoint.variant
    kept = variant["VariantName"] == old["VariantName"]
    if endpoint.scalable_target and not (kept and instance_types(variant) == instance_types(old)):
        raise InvalidRequestError(
            f'The variant(s) "[{old["VariantName"]}]" must be deregistered as scalable targets with AWS Auto Scaling '
            "before they can be removed or have their instance type updated."
        )
    if ("AsyncInferenceConfig" in config) != bool(endpoint.queue):
        # "cannot be removed" is in sagemaker-python-sdk #3124; that it cannot be added is our assumption.
        verb = "added to" if "AsyncInferenceConfig" in config else "removed from"
        raise InvalidRequestError(f"The AsyncInferenceConfig parameter cannot be {verb} this endpoint {endpoint.name}.")
    excluded = [each["VariantPropertyType"] for each in request.get("ExcludeRetainedVariantProperties") or []]
    retained = kept and request.get("RetainAllVariantProperties") and "DesiredInstanceCount" not in excluded
    count = endpoint.desired_count if retained else int(variant["InitialInstanceCount"])
    rollout = rollout_of(deployment, count)
    check_batch(rollout, endpoint.desired_count)
    endpoint.update(config, find_model(variant["ModelName"]), rollout, deployment)
    return {"EndpointArn": endpoint.arn}


def update_endpoint_weights_and_capacities(request: dict[str, Any]) -> dict[str, Any]:
    endpoint = _find_idle_endpoint(request)
    if isinstance(endpoint, ComponentEndpoint):
        raise InvalidRequestError(
            f'The instances of endpoint "{endpoint.arn}" follow its inference components; update their runtime config.'
        )
    wanted = required(request, "DesiredWeightsAndCapacities")[0]
    if wanted["VariantName"] != endpoint.variant["VariantName"]:
        raise InvalidRequestError(f'Could not find variant "{wanted["VariantName"]}" of endpoint "{endpoint.arn}".')
    count = int(wanted.get("DesiredInstanceCount", endpoint.desired_count))
    if count < 1 and not endpoint.queue:
        raise InvalidRequestError(
            f'The desired instance count of variant "{wanted["VariantName"]}" must be at least 1; only an asynchronous '
            "endpoint runs without instances."
        )
    endpoint.scale_to(count)
    return {"EndpointArn": endpoint.arn}


def delete_endpoint(request: dict[str, Any]) -> dict[str, Any]:
    endpoint = find_endpoint(required(request, "EndpointName"))
    _refuse_busy(endpoint)
    if mine := components_on(endpoint.name):
        raise InvalidRequestError(
            f'Cannot delete endpoint "{endpoint.arn}" while it hosts inference components: '
            f"{', '.join(component.name for component in mine)}."
        )
    endpoint.delete()
    ministack.in_background(_forget_endpoint, endpoint, name=f"delete {endpoint.name}")
    return {}


def _forget_endpoint(endpoint: Endpoint | ComponentEndpoint) -> None:
    endpoint.wait_until_settled()
    endpoints.pop(endpoint.name, None)


def delete_model(request: dict[str, Any]) -> dict[str, Any]:
    models.pop(find_model(request["ModelName"])["ModelName"])
    return {}


def delete_endpoint_config(request: dict[str, Any]) -> dict[str, Any]:
    endpoint_configs.pop(find_endpoint_config(request["EndpointConfigName"])["EndpointConfigName"])
    return {}


def _list_endpoints(request: dict[str, Any]) -> dict[str, Any]:
    members = ("EndpointName", "EndpointArn", "EndpointStatus", "CreationTime", "LastModifiedTime")
    known = [endpoint.describe() for endpoint in list(endpoints.values())]
    return {"Endpoints": [{member: endpoint[member] for member in members} for endpoint in known]}


def _list(store: Any, noun: str) -> Callable[[dict[str, Any]], dict[str, Any]]:
    members = (f"{noun}Name", f"{noun}Arn", "CreationTime")

    def list_all(request: dict[str, Any]) -> dict[str, Any]:
        return {f"{noun}s": [{member: each[member] for member in members} for each in list(store.values())]}

    return list_all


_OPERATIONS: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "CreateModel": create_model,
    "DescribeModel": lambda request: find_model(required(request, "ModelName")),
    "DeleteModel": delete_model,
    "ListModels": _list(models, "Model"),
    "CreateEndpointConfig": create_endpoint_config,
    "DescribeEndpointConfig": lambda request: find_endpoint_config(required(request, "EndpointConfigName")),
    "DeleteEndpointConfig": delete_endpoint_config,
    "ListEndpointConfigs": _list(endpoint_configs, "EndpointConfig"),
    "CreateEndpoint": create_endpoint,
    "DescribeEndpoint": lambda request: find_endpoint(required(request, "EndpointName")).describe(),
    "UpdateEndpoint": update_endpoint,
    "UpdateEndpointWeightsAndCapacities": update_endpoint_weights_and_capacities,
    "DeleteEndpoint": delete_endpoint,
    "ListEndpoints": _list_endpoints,
    **component_operations.OPERATIONS,
}


def _list_watches() -> dict[str, int]:
    """Endpoint name -> the seconds of the cloud for which an update still watches its alarms."""
    updated = [each for _, _, each in ministack.in_all_scopes(endpoints) if isinstance(each, Endpoint)]
    ends = {endpoint.name: endpoint.watched_until for endpoint in updated}
    return {name: round((end - time.time()) * clock.SPEED) for name, end in ends.items() if end > time.time()}


def _find_idle_endpoint(request: dict[str, Any]) -> Endpoint | ComponentEndpoint:
    endpoint = find_endpoint(required(request, "EndpointName"))
    _refuse_busy(endpoint)
    if endpoint.status == "Failed":
        raise InvalidRequestError(f'Cannot update failed endpoint "{endpoint.arn}"; it can only be deleted.')
    find_endpoint_config(endpoint.config["EndpointConfigName"])  # terraform-provider-aws #48997
    return endpoint


def _refuse_busy(endpoint: Endpoint | ComponentEndpoint) -> None:
    if endpoint.status not in ("InService", "Failed"):
        raise InvalidRequestError(f'Cannot update in-progress endpoint "{endpoint.arn}".')


def _store(store: Any, request: dict[str, Any], name: str, noun: str, kind: str) -> dict[str, Any]:
    arn = arn_of(kind, name)
    tags = list(request.get("Tags") or [])
    store[name] = request | {f"{noun}Arn": arn, "CreationTime": time.time(), "Tags": tags}
    return {f"{noun}Arn": arn}


async def _handle(
    method: str, path: str, headers: dict[str, str], body: bytes, query: dict[str, Any]
) -> ministack.Answer:
    name = _operation(headers)
    if name not in _OPERATIONS:
        return _error("UnknownOperationException", f"The local cloud has no operation {name}.")
    try:
        content = await ministack.off_loop(_OPERATIONS[name], json.loads(body or b"{}"))
    except LimitExceededError as error:
        return _error("ResourceLimitExceeded", str(error))
    except InvalidRequestError as error:
        return _error("ValidationException", str(error))
    return 200, {"Content-Type": _CONTENT_TYPE}, json.dumps(content).encode()


def _error(code: str, message: str) -> ministack.Answer:
    headers = {"Content-Type": _CONTENT_TYPE, "x-amzn-errortype": code}
    return 400, headers, json.dumps({"__type": code, "message": message}).encode()


def _operation(headers: dict[str, str]) -> str:
    return headers.get("x-amz-target", "").rpartition(".")[2]


def _authorize(headers: dict[str, str], path: str, body: bytes) -> tuple[str, str]:
    """The IAM action and the most specific resource that the request names."""
    request = json.loads(body or b"{}")
    for member, kind in (
        ("InferenceComponentName", "inference-component"),
        ("EndpointName", "endpoint"),
        ("EndpointConfigName", "endpoint-config"),
        ("ModelName", "model"),
    ):
        if isinstance(request.get(member), str):
            return f"sagemaker:{_operation(headers)}", arn_of(kind, request[member])
    return f"sagemaker:{_operation(headers)}", "*"


def _find_by_tags() -> Iterator[tuple[str, list[dict[str, str]]]]:
    for store, noun in ((models, "Model"), (endpoint_configs, "EndpointConfig")):
        for each in list(store.values()):
            yield each[f"{noun}Arn"], each["Tags"]
    for each in [*endpoints.values(), *components.values(), *adapters.values()]:
        yield each.arn, each.tags


def install() -> None:
    _tagging._COLLECTORS["sagemaker"] = _find_by_tags
    register_service("sagemaker", _handle, authorize=_authorize, target_prefix="SageMaker.")
    ministack.register_view("/_slipway/containers", list_containers)
    ministack.register_view("/_slipway/watches", _list_watches)
    ministack.register_view(faults.PATH, component_operations.list_instances)
    faults.install()
    ministack.register_view("/_slipway/model", lambda: {"name": os.environ.get("SLIPWAY_LOCAL_MODEL_NAME")})
