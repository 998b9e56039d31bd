"""The metrics that SageMaker puts into CloudWatch for each invocation."""

import queue

from local_cloud.emulator import hooks

_Invocation = tuple[str, str, str, str, int, float]
_invocations: queue.SimpleQueue[_Invocation] = queue.SimpleQueue()


def count_invocation(endpoint: str, variant: str, status: int, latency_in_seconds: float) -> None:
    """Note one invocation by the container's own status; a writer stores it off the request's path."""
    _invocations.put((hooks.account_id(), hooks.region(), endpoint, variant, status, latency_in_seconds))


def _write_all() -> None:
    while True:
        account, region, endpoint, variant, status, latency = _invocations.get()
        values = {
            "Invocations": (1.0, "None"),
            "Invocation4XXErrors": (float(400 <= status < 500), "None"),
            "Invocation5XXErrors": (float(status >= 500), "None"),
            "ModelLatency": (latency * 1_000_000, "Microseconds"),
        }
        with hooks.scope(account, region):
            hooks.record_metrics("AWS/SageMaker", {"EndpointName": endpoint, "VariantName": variant}, values)


def install() -> None:
    hooks.in_background(_write_all, name="sagemaker metrics")
