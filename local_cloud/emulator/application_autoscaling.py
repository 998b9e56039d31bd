"""Application Auto Scaling for SageMaker variants: it registers targets and policies, and does not act on them yet."""

import json
import secrets
import time
import uuid
from collections.abc import Callable
from typing import Any

from local_cloud.emulator import hooks
from local_cloud.emulator.sagemaker_store import endpoints
from local_cloud.emulator.scalable_targets import policies, targets

_DIMENSION = "sagemaker:variant:DesiredInstanceCount"


class ScalingError(Exception):
    """A refusal: a code of the service's own and a message."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


def register_target(request: dict[str, Any]) -> dict[str, Any]:
    _check_dimension(request)
    resource_id = request["ResourceId"]
    _check_variant_exists(resource_id)
    target = targets.get(resource_id) or {
        "ScalableTargetARN": _arn("application-autoscaling", f"scalable-target/{secrets.token_hex(12)}"),
        "CreationTime": time.time(),
    }
    target = target | {member: value for member, value in request.items() if member != "Tags"}
    least, most = target.get("MinCapacity"), target.get("MaxCapacity")
    if least is None or most is None:
        raise ScalingError("ValidationException", "MinCapacity and MaxCapacity are required for a new scalable target.")
    if int(least) > int(most):
        raise ScalingError("ValidationException", "Maximum capacity cannot be less than minimum capacity")
    targets[resource_id] = target
    return {"ScalableTargetARN": target["ScalableTargetARN"]}


def deregister_target(request: dict[str, Any]) -> dict[str, Any]:
    _find_target(request["ResourceId"])
    targets.pop(request["ResourceId"])
    for key in [key for key in policies if key[0] == request["ResourceId"]]:
        policies.pop(key)
    return {}


def put_policy(request: dict[str, Any]) -> dict[str, Any]:
    _check_dimension(request)
    _find_target(request["ResourceId"])
    key = (request["ResourceId"], request["PolicyName"])
    path = f"resource/sagemaker/{request['ResourceId']}:policyName/{request['PolicyName']}"
    known = policies.get(key) or {
        "PolicyARN": _arn("autoscaling", f"scalingPolicy:{uuid.uuid4()}:{path}"),
        "CreationTime": time.time(),
        "Alarms": [],
    }
    policies[key] = known | request
    return {"PolicyARN": known["PolicyARN"], "Alarms": []}


def delete_policy(request: dict[str, Any]) -> dict[str, Any]:
    if policies.pop((request["ResourceId"], request["PolicyName"]), None) is None:
        raise ScalingError(
            "ObjectNotFoundException", f"No scaling policy found for policy name: {request['PolicyName']}"
        )
    return {}


def _describe(key: str, store: Any, member: str, wanted: str) -> Callable[[dict[str, Any]], dict[str, Any]]:
    def describe(request: dict[str, Any]) -> dict[str, Any]:
        found = [
            item
            for item in store.values()
            if item["ServiceNamespace"] == request["ServiceNamespace"]
            and item["ResourceId"] in request.get("ResourceIds", [request.get("ResourceId", item["ResourceId"])])
            and item.get(member) in request.get(wanted, [item.get(member)])
        ]
        return {key: found}

    return describe


_OPERATIONS: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "RegisterScalableTarget": register_target,
    "DescribeScalableTargets": _describe("ScalableTargets", targets, "ResourceId", "ResourceIds"),
    "DeregisterScalableTarget": deregister_target,
    "PutScalingPolicy": put_policy,
    "DescribeScalingPolicies": _describe("ScalingPolicies", policies, "PolicyName", "PolicyNames"),
    "DeleteScalingPolicy": delete_policy,
}


def _check_dimension(request: dict[str, Any]) -> None:
    if request["ServiceNamespace"] != "sagemaker" or request["ScalableDimension"] != _DIMENSION:
        raise ScalingError(
            "ValidationException",
            f"The local cloud scales sagemaker {_DIMENSION} only, not {request['ServiceNamespace']} "
            f"{request['ScalableDimension']}.",
        )


def _check_variant_exists(resource_id: str) -> None:
    known = {f"endpoint/{name}/variant/{endpoint.variant['VariantName']}" for name, endpoint in endpoints.items()}
    if resource_id not in known:
        raise ScalingError("ValidationException", f"SageMaker endpoint or variant not found: {resource_id}")


def _find_target(resource_id: str) -> Any:
    if resource_id not in targets:
        message = f"No scalable target found for service namespace: sagemaker, resource ID: {resource_id}, "
        raise ScalingError("ObjectNotFoundException", f"{message}scalable dimension: {_DIMENSION}")
    return targets[resource_id]


def _arn(service: str, resource: str) -> str:
    return f"arn:aws:{service}:{hooks.region()}:{hooks.account_id()}:{resource}"


async def _handle(method: str, path: str, headers: dict[str, str], body: bytes, query: dict[str, Any]) -> hooks.Answer:
    name = headers.get("x-amz-target", "").rpartition(".")[2]
    if name not in _OPERATIONS:
        return hooks.error_answer("UnknownOperationException", f"The local cloud has no operation {name}.")
    try:
        return hooks.json_answer(_OPERATIONS[name](json.loads(body or b"{}")))
    except ScalingError as error:
        return hooks.error_answer(error.code, str(error))


def _authorize(headers: dict[str, str], path: str, body: bytes) -> tuple[str, str]:
    return f"application-autoscaling:{headers.get('x-amz-target', '').rpartition('.')[2]}", "*"


def _reset() -> None:
    targets.clear()
    policies.clear()


def install() -> None:
    hooks.register_service(
        "application-autoscaling",
        _handle,
        authorize=_authorize,
        reset=_reset,
        target_prefix="AnyScaleFrontendService.",
    )
