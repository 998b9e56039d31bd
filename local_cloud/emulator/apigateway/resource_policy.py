"""The resource policy of a REST API, as its deployment holds it, judged for every call."""

import functools
import json
from typing import Any

from local_cloud.emulator.apigateway.errors import gateway_error
from local_cloud.emulator.apigateway.rest_call import RestCall, current_call
from local_cloud.emulator.core import ministack

_gateway = ministack.internals(
    "ministack.services.apigateway_v1",
    "_authorize_request_v1",
    "_create_deployment",
    "_rest_apis",
    "execute_api_arn",
    "rest_api_policy_for_arn",
)
_evaluator = ministack.internals(
    "ministack.core.iam_evaluator", "EvalContext", "_resolve_condition_key", "evaluate_resource_policy"
)

_deployed: dict[tuple[str, str], Any] = {}  # policies by API and deployment: a later one waits for a deployment
_FORBIDDEN = {"Content-Type": "application/json", "x-amzn-errortype": "ForbiddenException"}


def refuse_wrong_door(call: RestCall) -> ministack.Answer | None:
    """Refuse a call that reaches no API on AWS: through no VPC endpoint a private one, through one a public one.

    Names of a private API with an endpoint in them exist for associated endpoints only, and EndpointAccessMode STRICT
    refuses them.
    """
    with ministack.scope(call.account, call.region):
        api = _gateway._rest_apis[call.api_id]
    configuration = {name[:1].lower() + name[1:]: value for name, value in api["endpointConfiguration"].items()}
    is_private = "PRIVATE" in configuration.get("types", [])
    named = call.headers.get("x-apigw-api-id") or call.vpc_endpoint in configuration.get("vpcEndpointIds", [])
    is_open = named and api.get("endpointAccessMode") != "STRICT" if is_private else not call.vpc_endpoint
    return None if is_open else (403, dict(_FORBIDDEN), b'{"message":"Forbidden"}')


def complete_api(api_id: str, properties: dict[str, Any]) -> None:
    """Set an API's EndpointAccessMode, which MiniStack leaves out."""
    _gateway._rest_apis[api_id]["endpointAccessMode"] = properties.get("EndpointAccessMode", "")


def _create_deployment(original: Any, api_id: str, data: dict[str, Any]) -> ministack.Answer:
    answer: ministack.Answer = original(api_id, data)
    if answer[0] == 201:
        _deployed[api_id, json.loads(answer[2])["id"]] = _gateway._rest_apis[api_id].get("policy")
    return answer


def _policy_for_arn(original: Any, resource_arn: str) -> Any:
    call = current_call()
    found = original(resource_arn)
    if found is None or call is None or not call.stage:
        return found
    policy, owner = _deployed.get((call.api_id, call.stage["deploymentId"])), found[1]
    prefix = f"arn:aws:execute-api:{call.region}:{owner}:{call.api_id}/"
    return json.dumps(policy).replace('"execute-api:/', f'"{prefix}') if policy else "", owner


async def _authorize(
    original: Any, api_id: str, stage: str, method_object: Any, method: str, path: str, *rest: Any
) -> Any:
    """Judge a call in front of a Lambda authorizer: a denial comes first, silence leaves it to the authorizer."""
    call = current_call()
    if call and (method_object.get("authorizationType") or "").upper() == "CUSTOM":
        arn = _gateway.execute_api_arn(call.region, call.account, api_id, stage, method, path)
        policy = _gateway.rest_api_policy_for_arn(arn)[0]
        context = _evaluator.EvalContext("*", "Anonymous", "", "execute-api:Invoke", arn, call.region)
        if policy and _evaluator.evaluate_resource_policy(policy, context).decision == "Deny":
            said = "User is not authorized to access this resource with an explicit deny in a resource-based policy"
            return gateway_error("ACCESS_DENIED", said), None
    return await original(api_id, stage, method_object, method, path, *rest)


def _condition_key(original: Any, key: str, context: Any) -> Any:
    """Know the keys of a call through a VPC endpoint. Behind one, aws:SourceIp has no value."""
    call, name = current_call(), key.lower()
    if call and name in ("aws:sourcevpce", "aws:vpcsourceip", "aws:sourceip"):
        known = {"aws:sourcevpce": call.vpc_endpoint or None}
        known["aws:vpcsourceip" if call.vpc_endpoint else "aws:sourceip"] = call.source_ip
        return known.get(name)
    return original(key, context)


def install() -> None:
    _gateway._create_deployment = functools.partial(_create_deployment, _gateway._create_deployment)
    _gateway.rest_api_policy_for_arn = functools.partial(_policy_for_arn, _gateway.rest_api_policy_for_arn)
    _gateway._authorize_request_v1 = functools.partial(_authorize, _gateway._authorize_request_v1)
    _evaluator._resolve_condition_key = functools.partial(_condition_key, _evaluator._resolve_condition_key)
