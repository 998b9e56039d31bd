"""Chooses the copy of an inference component for an invocation, or refuses the invocation with SageMaker's text."""

from local_cloud.emulator.core import ministack
from local_cloud.emulator.sagemaker.components.adapter import Adapter
from local_cloud.emulator.sagemaker.components.component import Component
from local_cloud.emulator.sagemaker.containers.instance import EndpointInstance
from local_cloud.emulator.sagemaker.containers.instance_group import InstanceGroup
from local_cloud.emulator.sagemaker.containers.metrics import NAMESPACE
from local_cloud.emulator.sagemaker.requests.validation import InvalidRequestError
from local_cloud.emulator.sagemaker.store import adapters, adapters_of, components
from local_cloud.emulator.services import cloudwatch

# By AWS's model-hosting-container-standards.
ADAPTER_HEADER = "x-amzn-sagemaker-adapter-identifier"
COMPONENT_HEADER = "x-amzn-sagemaker-inference-component"
# The texts are in BerriAI/litellm#37766 and stdapi-ai/stdapi.ai#43.
_MISSING = (
    "Inference Component Name header is required for endpoints to which you plan to deploy inference components. "
    "Please include Inference Component Name header or consider using SageMaker models."
)
_NOT_ALLOWED = (
    "Inference Component Name header is not allowed for endpoints to which you dont plan to deploy inference "
    "components. Please remove the Inference Component Name header and try again."
)
_NO_CAPACITY = (
    "Inference Component has no capacity to process this request. ApplicationAutoScaling may be in-progress (if "
    "configured) or try to increase the capacity by invoking UpdateInferenceComponentRuntimeConfig API."
)


def refuse_component(headers: dict[str, str]) -> None:
    """Refuse a call of an endpoint with a model if it names a component. Raises InvalidRequestError."""
    headers.pop(ADAPTER_HEADER, None)
    if headers.get(COMPONENT_HEADER):
        raise InvalidRequestError(_NOT_ALLOWED)


def take_copy(endpoint: str, headers: dict[str, str]) -> tuple[InstanceGroup, EndpointInstance] | None:
    """The copy for a call, with its group; None if no copy is healthy. Raises InvalidRequestError.

    It adds the header by which the container learns the name of the adapter.
    """
    named = _find(endpoint, headers)
    adapter = named if isinstance(named, Adapter) else _target_of(named, headers)
    component = adapter.base if adapter else named
    assert isinstance(component, Component)
    headers.pop(ADAPTER_HEADER, None)
    if adapter:
        headers[ADAPTER_HEADER] = adapter.name
    if not component.current_count:
        dimensions = {"InferenceComponentName": named.name}
        cloudwatch.record_metrics(NAMESPACE, dimensions, {"NoCapacityInvocationFailures": (1.0, "Count")})
        raise InvalidRequestError(_NO_CAPACITY)
    for group in component.groups:
        if instance := group.take_instance():
            return group, instance
    return None


def adapter_header(headers: dict[str, str]) -> dict[str, str]:
    """The header for the container that take_copy() added, if any."""
    return {ADAPTER_HEADER: headers[ADAPTER_HEADER]} if ADAPTER_HEADER in headers else {}


def _target_of(base: Component, headers: dict[str, str]) -> Adapter | None:
    """The adapter that a call of its base chooses by the URL of its artifact; None if it chooses none."""
    url = headers.get("x-amzn-sagemaker-target-model")
    if not url:
        return None
    found = next((each for each in adapters_of(base.name) if each.url == url), None)
    if found is None:
        raise InvalidRequestError(f"Target model {url} of inference component {base.name} not found.")
    return found


def _find(endpoint: str, headers: dict[str, str]) -> Component | Adapter:
    name = headers.get(COMPONENT_HEADER)
    if not name:
        raise InvalidRequestError(_MISSING)
    found: Component | Adapter | None = components.get(name) or adapters.get(name)
    base = found.base if isinstance(found, Adapter) else found
    if found is None or base is None or base.where["endpoint"] != endpoint:
        raise InvalidRequestError(f"Inference Component {name} of account {ministack.account_id()} not found.")
    return found
