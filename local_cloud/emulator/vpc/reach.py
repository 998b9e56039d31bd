"""Lets through only calls that can come through: of functions, containers and machines in a VPC, by their sessions."""

import functools
from typing import Any

from local_cloud.emulator.core import ministack
from local_cloud.emulator.lambda_.functions import function_configuration
from local_cloud.emulator.services import iam
from local_cloud.emulator.vpc.network import Place

_app = ministack.internals("ministack.app", "_dispatch_service_request", "_routing_params", "detect_service")
_iam_actions = ministack.internals(
    "ministack.core.iam_actions", "access_denied_response", "extract_iam_action", "extract_resource_arn"
)
_router = ministack.internals("ministack.core.router", "extract_access_key_id")
_sts = ministack.internals("ministack.services.sts", "_sessions")

# The end of an endpoint's name, where it is not MiniStack's name of the service.
_ENDPOINT_NAMES = {
    "cloudwatch": "monitoring",
    "eventbridge": "events",
    "sagemaker": "sagemaker.api",
    "sagemaker-runtime": "sagemaker.runtime",
}
_places: dict[str, Place] = {}


def place_session(session: dict[str, str], place: Place) -> None:
    """Say where the caller with these credentials stands."""
    _places[session["AWS_ACCESS_KEY_ID"]] = place


def _place_of(key_id: str, session_arn: str) -> Place | None:
    """Where the caller stands; None = outside of any VPC."""
    if key_id in _places:
        return _places[key_id]
    function = function_configuration(session_arn.rpartition("/")[2]) if ":assumed-role/" in session_arn else None
    vpc = (function or {}).get("VpcConfig") or {}
    return Place(tuple(vpc["SubnetIds"]), tuple(vpc["SecurityGroupIds"])) if vpc.get("SubnetIds") else None


async def _dispatch(dispatch: Any, method: str, path: str, headers: Any, body: bytes, query: Any, *rest: Any) -> Any:
    key_id = _router.extract_access_key_id(headers, query)
    arn = str(_sts._sessions.get(key_id, {}).get("Arn", ""))
    if place := _place_of(key_id, arn) if arn else None:
        parameters = _app._routing_params(method, path, headers, body, query)
        service = _app.detect_service(method, path, headers, parameters)
        leads, endpoints = place.way_to(_ENDPOINT_NAMES.get(service, service))
        if not leads:
            return ministack.UNREACHABLE
        request, here = (service, method, path, headers, body, parameters), (ministack.region(), ministack.account_id())
        action, resource = _iam_actions.extract_iam_action(*request), _iam_actions.extract_resource_arn(*request, *here)
        if not all(iam.endpoint_allows(each["PolicyDocument"], arn, action, resource) for each in endpoints):
            return _iam_actions.access_denied_response(service, action, arn, "", headers=headers, resource_arn=resource)
    return await dispatch(method, path, headers, body, query, *rest)


def install() -> None:
    _app._dispatch_service_request = functools.partial(_dispatch, _app._dispatch_service_request)
