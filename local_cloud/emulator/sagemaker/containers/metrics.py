"""SageMaker's metrics of each invocation."""

from local_cloud.emulator.sagemaker.containers.instance import ContainerSpec
from local_cloud.emulator.services import cloudwatch

NAMESPACE = "AWS/SageMaker"


def count_invocation(spec: ContainerSpec, status: int, latency_in_seconds: float) -> None:
    """Record one invocation of a real-time endpoint, by the container's status."""
    counts = {
        "Invocations": (1.0, "None"),
        "InvocationModelErrors": (float(not 200 <= status < 300), "None"),
    }
    _record_for_group(spec, counts | _outcome(status, latency_in_seconds))


def count_async_answer(spec: ContainerSpec, status: int, latency_in_seconds: float) -> None:
    """Record one answer of an asynchronous endpoint's container, for which AWS has fewer metrics."""
    _record_for_group(spec, _outcome(status, latency_in_seconds))


def count_async_event(spec: ContainerSpec, name: str, value: float = 1.0, unit: str = "Count") -> None:
    """Record an event in the life of an asynchronous invocation."""
    cloudwatch.record_metrics(NAMESPACE, dimensions_of(spec), {name: (value, unit)})


def _outcome(status: int, latency_in_seconds: float) -> dict[str, tuple[float, str]]:
    return {
        "Invocation4XXErrors": (float(400 <= status < 500), "None"),
        # Status 0, no answer in time, counts as an error of the server.
        "Invocation5XXErrors": (float(status >= 500 or not status), "None"),
        "ModelLatency": (latency_in_seconds * 1_000_000, "Microseconds"),
    }


def _record_for_group(spec: ContainerSpec, values: dict[str, tuple[float, str]]) -> None:
    own = dimensions_of(spec)
    cloudwatch.record_metrics(NAMESPACE, own, values)
    if not spec.component:
        # During an update two configurations serve; their names keep the metrics apart.
        cloudwatch.record_metrics(NAMESPACE, own | {"EndpointConfigName": spec.config}, values)


def dimensions_of(spec: ContainerSpec) -> dict[str, str]:
    """The dimensions of a container's metrics; those of a component have its name only."""
    if spec.component:
        return {"InferenceComponentName": spec.component}
    return {"EndpointName": spec.endpoint, "VariantName": spec.variant}
