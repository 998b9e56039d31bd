"""The endpoint's status, kept for 15 seconds: DescribeEndpoint has a low rate per account."""

import time
from collections.abc import Callable
from typing import Any

from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from inference_api import errors
from inference_api.errors import ApiError

# Two attempts of at most 1 + 2 s, with back-off between them, end within the function's 10 s.
QUICK_RETRIES = Config(connect_timeout=1, read_timeout=2, retries={"mode": "standard", "total_max_attempts": 2})

# A submission waits at most 1 + 2 s for a status that it can do without.
ONE_QUICK_ATTEMPT = QUICK_RETRIES.merge(Config(retries={"mode": "standard", "total_max_attempts": 1}))

KEPT_FOR_SECONDS = 15
# A stack creates its endpoint last, long after its API, so an endpoint that is not found is about to be created.
_NOT_YET_CREATED = "Creating"
# Until the endpoint has been in service. A failed one can only be deleted.
_NEVER_SERVED = ("Creating", "Failed")


class EndpointStatus:
    """client: botocore's `sagemaker`."""

    def __init__(self, client: Any, endpoint_name: str, clock: Callable[[], float] = time.time) -> None:
        self._client = client
        self._endpoint_name = endpoint_name
        self._clock = clock
        self._status = ""
        self._read_at = float("-inf")

    def read(self) -> str:
        """SageMaker's word, such as InService, Creating (or not yet there), Updating or Failed. Raises ApiError 503."""
        now = self._clock()
        if now - self._read_at >= KEPT_FOR_SECONDS:
            self._status = self._describe()
            self._read_at = now
        return self._status

    def _describe(self) -> str:
        try:
            return str(self._client.describe_endpoint(EndpointName=self._endpoint_name)["EndpointStatus"])
        except ClientError as error:
            cause = str(error.response["Error"].get("Code"))
            if cause == "ValidationException":  # "Could not find endpoint": the name itself is always valid
                return _NOT_YET_CREATED
        except BotoCoreError as error:
            cause = type(error).__name__
        raise errors.status_unknown(cause)


class FirstService:
    """Whether the endpoint has been in service: asked until it has, and never again in this process."""

    def __init__(self, status: EndpointStatus) -> None:
        self._status = status
        self._has_begun = False

    def demand(self) -> None:
        """Raises ApiError 503 before the endpoint's first service; a status that is not known refuses nothing."""
        if self._has_begun:
            return
        try:
            status = self._status.read()
        except ApiError:
            return
        if status in _NEVER_SERVED:
            raise errors.endpoint_not_ready(status, ran=False)
        self._has_begun = True
