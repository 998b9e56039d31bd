"""Reads a shared endpoint, and a component on one, for verify, status, logs and list."""

from collections.abc import Iterator
from typing import Any

from botocore.exceptions import ClientError

from llm_hosting.catalog.instances import instances
from slipway.hosting.check import Check
from slipway.hosting.component import DeployedComponent, calls_of_component
from slipway.hosting.endpoint import DeployedEndpoint
from slipway.hosting.meter import Meter, Metric
from slipway.stack.deployed_stack import DeployedStack


def users_of_endpoint(stack: DeployedStack) -> Iterator[str]:
    """Yield what stands on a shared endpoint: the stacks that import its name, and components of no such stack.

    CloudFormation refuses to delete an export in use. SageMaker would delete the endpoint below a component.
    """
    exports = [each["ExportName"] for each in stack.described.get("Outputs", []) if "ExportName" in each]
    found = dict.fromkeys(name for export in exports for name in _imports(export, stack))
    yield from found
    for each in _components_on(stack) if exports else ():
        name = each["InferenceComponentName"]
        if not any(name.startswith(f"{user}-") for user in found):
            yield f"the component {name}"


def _imports(export: str, stack: DeployedStack) -> Iterator[str]:
    try:
        for page in stack.clients("cloudformation").get_paginator("list_imports").paginate(ExportName=export):
            yield from page["Imports"]
    except ClientError as error:
        if "is not imported by any stack" not in str(error):
            raise


def _components_on(stack: DeployedStack) -> Iterator[dict[str, Any]]:
    if stack.endpoint is None:
        return
    pages = stack.clients("sagemaker").get_paginator("list_inference_components")
    for page in pages.paginate(EndpointNameEquals=stack.endpoint_name):
        yield from page["InferenceComponents"]


class DeployedSharedEndpoint(DeployedEndpoint):
    """The endpoint of a stack that deployments share. It has no API, so it takes no calls."""

    takes_calls = False
    calls = None  # each of its components has a metric of its own

    def calls_by_model(self) -> dict[str, Metric]:
        names = sorted(each["InferenceComponentName"] for each in _components_on(self._stack))
        return {name: calls_of_component(name) for name in names}

    def state(self) -> dict[str, Any]:
        return super().state() | {"components": list(self._components())}

    def lines(self, state: dict[str, Any]) -> Iterator[tuple[str, str]]:
        yield from super().lines(state)
        yield from ((f"{'' if number else 'models'}", _shown(each)) for number, each in enumerate(state["components"]))
        if not state["components"]:
            yield "models", "none: the endpoint is empty"
        yield "room", self._room(state)

    def _components(self) -> Iterator[dict[str, Any]]:
        """Yield each component on the endpoint, with its copies and with what a copy takes."""
        sagemaker = self._stack.clients("sagemaker")
        for each in _components_on(self._stack):
            name = each["InferenceComponentName"]
            described = sagemaker.describe_inference_component(InferenceComponentName=name)
            counts = described.get("RuntimeConfig", {})
            takes = described["Specification"].get("ComputeResourceRequirements")
            if takes is None:  # an adapter, which lives in the copies of its base
                continue
            yield {
                "name": name,
                "status": described["InferenceComponentStatus"],
                "reason": described.get("FailureReason") or "",
                "copies": {
                    "current": counts.get("CurrentCopyCount", 0),
                    "desired": counts.get("DesiredCopyCount", 0),
                },
                "accelerators": int(takes.get("NumberOfAcceleratorDevicesRequired") or 0),
                "memory_in_mb": takes["MinMemoryRequiredInMb"],
            }

    def _room(self, state: dict[str, Any]) -> str:
        """Return how much of the instances that run the copies take. Only SageMaker knows which copy is where."""
        types = {name: number for name, number in state["instances"]["types"].items() if name in instances()}
        has = sum(number * instances()[name].accelerator_count for name, number in types.items())
        takes = sum(each["copies"]["current"] * each["accelerators"] for each in state["components"])
        return f"copies take {takes} of {has} accelerators on the instances that run"


class DeployedOnSharedEndpoint(DeployedComponent):
    """A component on the endpoint of another stack, which has the instances and their bill."""

    def checks(self) -> Iterator[Check]:
        yield from (self._service(), self._model())

    def meters(self) -> list[Meter]:
        return []

    def still_billing(self) -> Check:
        return Check("still billing", True, "the instances are those of the shared endpoint")

    def state(self) -> dict[str, Any]:
        return super().state() | {"usd_per_hour": None}

    def cost(self, state: dict[str, Any]) -> str:
        return "the instances are those of the shared endpoint: `slipway list` has its price"

    def lines(self, state: dict[str, Any]) -> Iterator[tuple[str, str]]:
        yield from (each for each in super().lines(state) if each[0] != "instances")


def _shown(component: dict[str, Any]) -> str:
    copies, takes = component["copies"], component["accelerators"]
    each = f"{takes} accelerator{'' if takes == 1 else 's'}" if takes else f"{component['memory_in_mb']} MiB of memory"
    reason = f": {component['reason']}" if component["reason"] else ""
    counts = f"{copies['current']} of {copies['desired']} copies of {each}"
    return f"{component['name']}: {component['status']}{reason}, {counts}"
