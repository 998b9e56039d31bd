"""Finds inference components that outlive a stack, tells which models they use, and removes them."""

import re
import time
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from botocore.exceptions import ClientError

from llm_hosting import COMPONENT_ENDPOINT_SUFFIX
from slipway.leftovers.retained_resource import BusyEndpointError, RetainedResource

_PAGES = {"PageSize": 100}  # SageMaker's maximum
_BASE = "BaseInferenceComponentName"  # an adapter's component names it
# SageMaker deletes no component whose copies start or end, and needs minutes to delete one.
_PATIENCE_IN_SECONDS, _LOOK_IN_SECONDS = 900, 10


class RetainedComponents:
    """The components that still exist: those among these ARNs, and all of these endpoints.

    arns: in lower case.
    """

    def __init__(self, arns: Collection[str], endpoints: Collection[str], sagemaker: Any) -> None:
        self._sagemaker = sagemaker
        # Not every region has components, so they are asked for only where there may be some.
        may_exist = any(":inference-component/" in arn or arn.endswith(COMPONENT_ENDPOINT_SUFFIX) for arn in arns)
        self._listed = [
            each
            for each in (_all(sagemaker) if may_exist else ())
            if each["InferenceComponentArn"].lower() in arns or each["EndpointName"] in endpoints
        ]

    def all(self) -> Iterator[RetainedResource]:
        """Yield the components, adapters before the components that they stand on."""
        described = [self._describe(each) for each in self._listed]
        for each in sorted(described, key=lambda each: not each.get("Specification", {}).get(_BASE)):
            yield self._component(each["InferenceComponentName"], each["InferenceComponentStatus"])

    def outside(self, in_stack: Collection[str], endpoints: Collection[str]) -> Iterator[RetainedResource]:
        """Yield the components that are neither in the stack nor on one of these endpoints, which bill anyway."""
        for each in self._listed:
            name = each["InferenceComponentName"]
            if name.lower() not in in_stack and each["EndpointName"] not in endpoints:
                yield self._component(name, f"on {each['EndpointName']}, made {each['CreationTime']:%Y-%m-%d}")

    def models(self) -> set[str]:
        """Return the names of the models in use. Raises BusyEndpointError while a component changes."""
        found = set()
        for each in self._listed:
            described = self._describe(each)
            if (status := described["InferenceComponentStatus"]) not in ("InService", "Failed"):
                name = each["InferenceComponentName"]
                raise BusyEndpointError(f"The component {name} is {status}; try again when it is InService.")
            specifications = [described.get("Specification", {}), *described.get("Specifications", [])]
            found |= {specification["ModelName"] for specification in specifications if "ModelName" in specification}
        return found

    def _describe(self, listed: Mapping[str, Any]) -> dict[str, Any]:
        name = listed["InferenceComponentName"]
        described: dict[str, Any] = self._sagemaker.describe_inference_component(InferenceComponentName=name)
        return described

    def _component(self, name: str, holds: str) -> RetainedResource:
        kind = "component: the instances below it bill"
        return RetainedResource(kind, name, holds, lambda: self._delete(name), bills=True)

    def _delete(self, name: str) -> None:
        """Delete a component, and wait until it is gone: the endpoint below it must not go first.

        Raises BusyEndpointError.
        """
        patience = time.monotonic() + _PATIENCE_IN_SECONDS
        while time.monotonic() < patience:
            try:
                described = self._sagemaker.describe_inference_component(InferenceComponentName=name)
                if described["InferenceComponentStatus"] != "Deleting":
                    self._sagemaker.delete_inference_component(InferenceComponentName=name)
            except ClientError as error:
                if "Could not find" in str(error):
                    return
                if not re.search("Cannot (delete|update)", str(error)):
                    raise
            time.sleep(_LOOK_IN_SECONDS)
        raise BusyEndpointError(f"The component {name} is not gone yet; purge again in some minutes.")


def _all(sagemaker: Any) -> Iterator[dict[str, Any]]:
    for page in sagemaker.get_paginator("list_inference_components").paginate(PaginationConfig=_PAGES):
        yield from page["InferenceComponents"]
