"""The endpoint's status and configuration, kept for 15 seconds: DescribeEndpoint has a low rate per account."""

import time
from collections.abc import Callable
from typing import Any, Protocol

from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from inference_api.shared import errors
from inference_api.shared.errors import ApiError, BusyError
from inference_api.shared.model_states import ASLEEP, FAILED, READY, STARTING

# Two attempts of at most 1 + 2 s, with back-off between them, end within the function's 10 s.
QUICK_RETRIES = Config(connect_timeout=1, read_timeout=2, retries={"mode": "standard", "total_max_attempts": 2})

KEPT_FOR_SECONDS = 15
NOT_DEPLOYED = "NotDeployed"  # shown if the stack was deployed without its endpoint or machines
# A stack creates its endpoint last, long after its API, so an endpoint that is not found is about to be created.
_NOT_YET_CREATED = "Creating"
# The statuses in which no instance answers, and none is about to.
_OUT_OF_SERVICE = ("Failed", "OutOfService", "Deleting", "UpdateRollbackFailed")

# The statuses of an endpoint or component that has never been in service. A rollback of the first deploy deletes them
# before the API.
_NEVER_SERVED = ("Creating", "Failed", "Deleting")


class EndpointStatus:
    """The status and configuration of an endpoint.

    client: botocore's `sagemaker`. updates_by_parts: whether old and new instances answer during an update.
    """

    def __init__(
        self,
        client: Any,
        endpoint_name: str,
        clock: Callable[[], float] = time.time,
        *,
        updates_by_parts: bool = False,
    ) -> None:
        self._client = client
        self._endpoint_name = endpoint_name
        self._clock = clock
        self._updates_by_parts = updates_by_parts
        self._status = ""
        self._description: dict[str, Any] = {}
        self._read_at = float("-inf")

    def read(self) -> str:
        """Return SageMaker's status, such as InService, Creating (or not yet there) or Failed. Raises ApiError 503."""
        now = self._clock()
        if now - self._read_at >= KEPT_FOR_SECONDS:
            self._status = self._describe()
            self._read_at = now
        return self._status

    def runs(self, configuration: str) -> bool | None:
        """Whether requests reach instances of this EndpointConfig only; None if that is unknown.

        An endpoint that is being created runs no other configuration. During an update the new configuration has all of
        the traffic in the stage Baking; in other stages both may have some. SageMaker may leave the stage out. If
        updates go by parts, both may have some in every stage.

        configuration: "" for a shared endpoint, whose updates leave the deployment's model as it is.
        """
        if not configuration:
            return True
        try:
            status = self.read()
        except (ApiError, BusyError):
            return None
        pending = self._description.get("PendingDeploymentSummary")
        if status == "Creating" or not pending:
            return status == "Creating" or self._description.get("EndpointConfigName") == configuration
        if self._updates_by_parts and pending["EndpointConfigName"] == configuration:
            return None
        variants = pending.get("ProductionVariants") or []
        stages = {stage["Status"] for variant in variants for stage in variant.get("VariantStatus") or []}
        if not stages:
            return None
        return stages == {"Baking"} and pending["EndpointConfigName"] == configuration

    def state(self) -> str:
        """Return READY, STARTING, FAILED, or ASLEEP for an asynchronous endpoint at zero. Raises ApiError 503."""
        status = self.read()
        if status in _OUT_OF_SERVICE:
            return FAILED
        variants = self._description.get("ProductionVariants") or []
        if status == _NOT_YET_CREATED or not variants:
            return STARTING
        if any(variant.get("CurrentInstanceCount") for variant in variants):
            return READY
        return STARTING if any(variant.get("DesiredInstanceCount") for variant in variants) else ASLEEP

    def _describe(self) -> str:
        try:
            self._description = self._client.describe_endpoint(EndpointName=self._endpoint_name)
            return str(self._description["EndpointStatus"])
        except ClientError as error:
            cause = str(error.response["Error"].get("Code"))
            if cause == "ValidationException":  # "Could not find endpoint": the name itself is always valid
                return _NOT_YET_CREATED
        except BotoCoreError as error:
            cause = type(error).__name__
        raise errors.status_unknown(cause)


class Status(Protocol):
    """The status of an endpoint or of a component on it."""

    def read(self) -> str:
        """Return SageMaker's status. Raises ApiError 503."""
        ...


class FirstService:
    """Knows whether the model has ever been in service; once it has, this process does not ask again."""

    def __init__(self, status: Status) -> None:
        self._status = status
        self._has_begun = False

    def demand(self) -> None:
        """Raises ApiError 503 before the model's first service. An unknown status is no reason to refuse."""
        if self._has_begun:
            return
        try:
            status = self._status.read()
        except (ApiError, BusyError):
            return
        if status in _NEVER_SERVED:
            raise errors.endpoint_not_ready(status, ran=False)
        self._has_begun = True
