"""The endpoint's status, kept for 15 seconds: DescribeEndpoint has a low rate per account."""

import time
from collections.abc import Callable
from typing import Any

from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from inference_api import errors

# Two attempts of at most 1 + 2 s, with back-off between them, end within the function's 10 s.
QUICK_RETRIES = Config(connect_timeout=1, read_timeout=2, retries={"mode": "standard", "total_max_attempts": 2})

KEPT_FOR_SECONDS = 15


class EndpointStatus:
    """client: botocore's `sagemaker`."""

    def __init__(self, client: Any, endpoint_name: str, clock: Callable[[], float] = time.time) -> None:
        self._client = client
        self._endpoint_name = endpoint_name
        self._clock = clock
        self._status = ""
        self._read_at = float("-inf")

    def read(self) -> str:
        """SageMaker's word, such as InService, Creating, Updating or Failed. Raises ApiError 503."""
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
        except BotoCoreError as error:
            cause = type(error).__name__
        raise errors.status_unknown(cause)
