"""The inference component that holds the model: its copies, and the call that asks SageMaker for one."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from inference_api.shared import errors
from inference_api.shared.model_states import FAILED, NOT_FOUND, state_of_component

_NAMES = re.compile(r"arn:\S+|\b\d{12}\b")  # of accounts and resources
_LONGEST_REASON = 300
# SageMaker's words for an instance that did not start: for lack of capacity, or because of a quota.
_NO_INSTANCE = re.compile(
    "ML compute capacity|InsufficientInstanceCapacity|CapacityError|service limit|Service Quotas|ResourceLimitExceeded"
)


@dataclass(frozen=True)
class Component:
    """A component as SageMaker describes it.

    status: SageMaker's, or NOT_FOUND. current, desired: numbers of copies. reason: why it has no copy, without names of
    accounts and resources; empty if SageMaker gives none.
    """

    status: str
    current: int = 0
    desired: int = 0
    reason: str = ""

    @property
    def state(self) -> str:
        """READY, STARTING, ASLEEP or FAILED."""
        return state_of_component(self.status, self.current, self.desired)

    @property
    def lacked_an_instance(self) -> bool:
        """Whether the start failed before an instance ran, which bills nothing."""
        return self.state == FAILED and bool(_NO_INSTANCE.search(self.reason))


class InferenceComponent:
    """Reads the component and asks for a copy. Raises botocore's errors.

    make_client: makes botocore's `sagemaker` on first use, because it is large.
    """

    def __init__(self, make_client: Callable[[], Any], name: str, endpoint_name: str) -> None:
        self._make_client, self._name, self._endpoint_name = make_client, name, endpoint_name

    def describe(self) -> Component:
        """Return the component as it is now."""
        client = self._make_client()
        try:
            found = client.describe_inference_component(InferenceComponentName=self._name)
        except ClientError as error:
            if error.response["Error"]["Code"] in ("ValidationException", "ResourceNotFound"):
                return Component(NOT_FOUND)
            raise
        copies = found.get("RuntimeConfig") or {}
        current, desired = copies.get("CurrentCopyCount") or 0, copies.get("DesiredCopyCount") or 0
        reason = found.get("FailureReason") or ""
        if desired and not current and not reason:
            # The component waits for an instance. Only its endpoint may know why none starts.
            reason = client.describe_endpoint(EndpointName=self._endpoint_name).get("FailureReason") or ""
        return Component(found["InferenceComponentStatus"], current, desired, public_reason(reason))

    def read(self) -> str:
        """Return SageMaker's status, in which a component that is not there yet is being created. Raises ApiError.

        A stack creates its component late, long after its API.
        """
        try:
            status = self.describe().status
        except (BotoCoreError, ClientError) as error:
            raise errors.status_unknown(type(error).__name__) from None
        return "Creating" if status == NOT_FOUND else status

    def is_settled(self) -> bool:
        """Whether no copy from before an update may answer; False also if that is unknown.

        A component that wakes is Updating, too, but has no copy.
        """
        try:
            found = self.describe()
        except (BotoCoreError, ClientError):
            return False
        return found.status == "InService" or not found.current

    def state(self) -> str:
        """Return READY, STARTING, ASLEEP or FAILED. Raises botocore's errors."""
        return self.describe().state

    def ask_for_a_copy(self) -> None:
        """Ask SageMaker to run one copy. It answers at once, and the copy starts within minutes."""
        self._make_client().update_inference_component_runtime_config(
            InferenceComponentName=self._name, DesiredRuntimeConfig={"CopyCount": 1}
        )


def public_reason(text: str) -> str:
    """Return AWS's reason as callers may read it: on one line, without ids of accounts and names of resources."""
    return " ".join(_NAMES.sub("...", text).split())[:_LONGEST_REASON]
