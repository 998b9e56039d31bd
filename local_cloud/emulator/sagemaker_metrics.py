"""The metrics that SageMaker puts into CloudWatch for each invocation."""

import contextlib
import queue
from typing import NamedTuple

from local_cloud.emulator import cloudwatch_hooks, hooks


class FleetName(NamedTuple):
    """The instances of one configuration of an endpoint: an update has two fleets at a time."""

    endpoint: str
    variant: str
    config: str


_Invocation = tuple[str, str, FleetName, int, float]
_EVALUATION_INTERVAL_IN_SECONDS = 1.0
_invocations: queue.SimpleQueue[_Invocation] = queue.SimpleQueue()


def count_invocation(fleet: FleetName, status: int, latency_in_seconds: float) -> None:
    """Note one invocation by the container's own status; a writer stores it off the request's path."""
    _invocations.put((hooks.account_id(), hooks.region(), fleet, status, latency_in_seconds))


def _write_all() -> None:
    active: set[tuple[str, str]] = set()
    while True:
        with contextlib.suppress(queue.Empty):
            active.add(_write(_invocations.get(timeout=_EVALUATION_INTERVAL_IN_SECONDS)))
            if not _invocations.empty():
                continue
        for account, region in active:
            with hooks.scope(account, region):
                cloudwatch_hooks.evaluate_alarms()


def _write(invocation: _Invocation) -> tuple[str, str]:
    account, region, fleet, status, latency = invocation
    values = {
        "Invocations": (1.0, "None"),
        "Invocation4XXErrors": (float(400 <= status < 500), "None"),
        "Invocation5XXErrors": (float(status >= 500), "None"),
        "InvocationModelErrors": (float(not 200 <= status < 300), "None"),
        "ModelLatency": (latency * 1_000_000, "Microseconds"),
    }
    variant = {"EndpointName": fleet.endpoint, "VariantName": fleet.variant}
    with hooks.scope(account, region):
        for dimensions in (variant, variant | {"EndpointConfigName": fleet.config}):
            cloudwatch_hooks.record_metrics("AWS/SageMaker", dimensions, values)
    return account, region


def install() -> None:
    hooks.in_background(_write_all, name="sagemaker metrics")
