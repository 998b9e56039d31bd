"""SageMaker's control plane for adapters: inference components with a base component."""

from typing import Any

from local_cloud.emulator.core import ministack
from local_cloud.emulator.sagemaker.components.adapter import Adapter
from local_cloud.emulator.sagemaker.requests.validation import InvalidRequestError, check_pattern, required
from local_cloud.emulator.sagemaker.store import adapters, arn_of, find_component

# What an adapter takes from its base.
_OF_THE_BASE = ("ComputeResourceRequirements", "DataCacheConfig", "ModelName", "SchedulingConfig", "StartupParameters")
_URL = r"s3://([^/]+)/(.+)"


def create_adapter(request: dict[str, Any], name: str) -> dict[str, Any]:
    base = find_component(request["Specification"]["BaseInferenceComponentName"])
    if base.where["endpoint"] != required(request, "EndpointName"):
        raise InvalidRequestError(
            f'The base inference component "{base.arn}" is not on the endpoint {request["EndpointName"]}.'
        )
    if request.get("VariantName") not in (None, base.where["variant"]):
        raise InvalidRequestError(f'The base inference component "{base.arn}" is not on {request["VariantName"]}.')
    if "RuntimeConfig" in request:
        raise InvalidRequestError("RuntimeConfig is not allowed: an adapter runs on the copies of its base.")
    if base.status in ("Creating", "Deleting"):
        raise InvalidRequestError(f'The base inference component "{base.arn}" is in status {base.status}.')
    adapter = Adapter(name, arn_of("inference-component", name), list(request.get("Tags") or []), base, _url(request))
    adapters[name] = adapter
    adapter.start()
    return {"InferenceComponentArn": adapter.arn}


def update_adapter(request: dict[str, Any]) -> dict[str, Any]:
    adapter = _find_idle(request)
    if "RuntimeConfig" in request or "DeploymentConfig" in request:
        raise InvalidRequestError("RuntimeConfig and DeploymentConfig are not allowed for an adapter.")
    base = required(request, "Specification").get("BaseInferenceComponentName")
    if base != adapter.base.name:
        raise InvalidRequestError(f"The base of an adapter cannot be changed from {adapter.base.name} to {base}.")
    adapter.update(_url(request))
    return {"InferenceComponentArn": adapter.arn}


def delete_adapter(request: dict[str, Any]) -> dict[str, Any]:
    adapter = _find_idle(request)
    adapter.delete()
    ministack.in_background(_forget, adapter, name=f"delete {adapter.name}")
    return {}


def _forget(adapter: Adapter) -> None:
    adapter.wait_until_settled()
    adapters.pop(adapter.name, None)


def _find_idle(request: dict[str, Any]) -> Adapter:
    adapter: Adapter = adapters[request["InferenceComponentName"]]
    if not adapter.is_idle:
        raise InvalidRequestError(f'Cannot update in-progress inference component "{adapter.arn}".')
    return adapter


def _url(request: dict[str, Any]) -> str:
    """The artifact's URL of a request, whose specification has been checked."""
    specification = request["Specification"]
    if given := sorted(specification.keys() & set(_OF_THE_BASE)):
        raise InvalidRequestError(f"{given[0]} is not allowed: an adapter runs on the copies of its base.")
    container = required(specification, "Container")
    if others := sorted(container.keys() - {"ArtifactUrl"}):
        raise InvalidRequestError(
            f"Container.{others[0]} is not allowed: an adapter runs in the container of its base."
        )
    url: str = required(container, "ArtifactUrl")
    check_pattern(url, "Specification.Container.ArtifactUrl", _URL)
    return url
