"""Orders faults for the calls that functions make on the local cloud."""

from typing import Any

import requests

from local_cloud.cloud import LocalCloud


class OrderedFaults:
    """The faults that a test has ordered from one local cloud."""

    def __init__(self, cloud: LocalCloud) -> None:
        self._url = f"{cloud.url}/_slipway/faults"

    def order(
        self, service: str, operation: str, fault: str, *, function: str = "", count: int = 1, **more: int
    ) -> requests.Response:
        request = {"service": service, "operation": operation, "fault": fault, "function": function, "count": count}
        return requests.post(self._url, json=request | more, timeout=60)

    def shown(self) -> list[dict[str, Any]]:
        """Return each fault with the number of calls that it has hit."""
        found: list[dict[str, Any]] = requests.get(self._url, timeout=60).json()["faults"]
        return found

    def clear(self) -> None:
        requests.delete(self._url, timeout=60)
