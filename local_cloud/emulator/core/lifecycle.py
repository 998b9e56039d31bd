"""A resource with a status, such as an endpoint, whose slow work runs on its own thread."""

import threading
import time
from collections.abc import Callable

from local_cloud.emulator.core import clock, ministack


class Lifecycle:
    """Status, reason of the last failure, and tags; wait_until_settled() waits for the end of the work in progress."""

    def __init__(self, name: str, arn: str, tags: list[dict[str, str]]) -> None:
        self.name, self.arn, self.tags = name, arn, tags
        self.status = "Creating"
        self.failure_reason = ""
        self.created_at = self.modified_at = time.time()
        self._settled = threading.Event()

    def wait_until_settled(self) -> None:
        self._settled.wait()

    def _in_background(self, status: str, work: Callable[..., None], *args: object) -> None:
        """Enter a status and start the work, which enters the next one."""
        self._settled.clear()
        self._enter(status)
        clock.begin_work()

        def run() -> None:
            try:
                work(*args)
            except Exception as error:
                self._enter("Failed", f"The local cloud failed: {error!r}")
                raise
            finally:
                self._settled.set()
                clock.end_work()

        ministack.in_background(run, name=self.arn.rpartition(":")[2])

    def _enter(self, status: str, failure_reason: str = "") -> None:
        self.failure_reason = failure_reason
        self.status = status
        self.modified_at = time.time()
