"""The metrics that SageMaker puts into CloudWatch for each invocation."""

import queue
from typing import NamedTuple

from local_cloud.emulator import cloudwatch_hooks, ministack
from local_cloud.emulator.model_instance import ContainerSpec


class _Data(NamedTuple):
    """Values of one moment: name -> (value, unit), stored once for each set of dimensions."""

    account: str
    region: str
    dimensions: tuple[dict[str, str], ...]
    values: dict[str, tuple[float, str]]


_data: queue.SimpleQueue[_Data] = queue.SimpleQueue()


def count_invocation(spec: ContainerSpec, status: int, latency_in_seconds: float) -> None:
    """Note one invocation of a real-time endpoint by the container's own status."""
    values = {
        "Invocations": (1.0, "None"),
        "InvocationModelErrors": (float(not 200 <= status < 300), "None"),
    }
    _put_for_fleet(spec, values | _outcome(status, latency_in_seconds))


def count_async_answer(spec: ContainerSpec, status: int, latency_in_seconds: float) -> None:
    """Note one answer behind an asynchronous endpoint, for which AWS has fewer metrics."""
    _put_for_fleet(spec, _outcome(status, latency_in_seconds))


def count_event(spec: ContainerSpec, name: str, value: float = 1.0, unit: str = "Count") -> None:
    """Note what happened to an asynchronous invocation."""
    _put((_variant(spec),), {name: (value, unit)})


def _outcome(status: int, latency_in_seconds: float) -> dict[str, tuple[float, str]]:
    return {
        "Invocation4XXErrors": (float(400 <= status < 500), "None"),
        # No answer in time (0) is an error of the server.
        "Invocation5XXErrors": (float(status >= 500 or not status), "None"),
        "ModelLatency": (latency_in_seconds * 1_000_000, "Microseconds"),
    }


def _put_for_fleet(spec: ContainerSpec, values: dict[str, tuple[float, str]]) -> None:
    # An update has two fleets at a time, which the name of the configuration tells apart.
    _put((_variant(spec), _variant(spec) | {"EndpointConfigName": spec.config}), values)


def _variant(spec: ContainerSpec) -> dict[str, str]:
    return {"EndpointName": spec.endpoint, "VariantName": spec.variant}


def _put(dimensions: tuple[dict[str, str], ...], values: dict[str, tuple[float, str]]) -> None:
    # A writer stores it off the request's path.
    _data.put(_Data(ministack.account_id(), ministack.region(), dimensions, values))


def _write_all() -> None:
    while True:
        data = _data.get()
        with ministack.scope(data.account, data.region):
            for dimensions in data.dimensions:
                cloudwatch_hooks.record_metrics("AWS/SageMaker", dimensions, data.values)


def install() -> None:
    ministack.in_background(_write_all, name="sagemaker metrics")
