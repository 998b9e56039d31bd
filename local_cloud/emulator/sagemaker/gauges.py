"""SageMaker's periodic metrics: the backlog of asynchronous endpoints, concurrent requests of real-time endpoints."""

from collections.abc import Iterator

from local_cloud.emulator.core import clock, ministack
from local_cloud.emulator.sagemaker.containers.metrics import NAMESPACE
from local_cloud.emulator.sagemaker.endpoint import Endpoint
from local_cloud.emulator.sagemaker.requests.validation import instance_types
from local_cloud.emulator.sagemaker.store import endpoints
from local_cloud.emulator.services import cloudwatch

_BACKLOG_INTERVAL_IN_SECONDS = 60
_CONCURRENCY_INTERVAL_IN_SECONDS = 10


def _put_backlogs() -> None:
    for endpoint in _each_endpoint():
        if endpoint.queue and endpoint.group:
            _put_backlog(endpoint, instances=len(endpoint.group.healthy))


def _put_backlog(endpoint: Endpoint, instances: int) -> None:
    assert endpoint.queue is not None
    size = endpoint.queue.size
    values = {
        "ApproximateBacklogSize": (float(size), "Count"),
        "ApproximateAgeOfOldestRequest": (endpoint.queue.age_of_oldest() * clock.SPEED, "Seconds"),
        # Only waiting invocations need capacity: an ending instance finishes those that it processes.
        "HasBacklogWithoutCapacity": (float(endpoint.queue.has_waiting and not instances), "Count"),
    }
    # AWS's example scales out from zero by this metric; at no backlog and no instances it has no value.
    if size or instances:
        values["ApproximateBacklogSizePerInstance"] = (size / max(instances, 1), "Count")
    cloudwatch.record_metrics(NAMESPACE, {"EndpointName": endpoint.name}, values)


def _put_concurrencies() -> None:
    for endpoint in _each_endpoint():
        if endpoint.group and not endpoint.queue:
            dimensions = {"EndpointName": endpoint.name, "VariantName": endpoint.variant["VariantName"]}
            by_type = dimensions | {"InstanceType": instance_types(endpoint.variant)[0]}
            for instance in endpoint.group.healthy:
                values = {"ConcurrentRequestsPerModel": (float(instance.outstanding), "Count")}
                cloudwatch.record_metrics(NAMESPACE, dimensions, values)
                if "InstancePools" in endpoint.variant:
                    cloudwatch.record_metrics(NAMESPACE, by_type, values)


def _each_endpoint() -> Iterator[Endpoint]:
    """Every endpoint, with its account and region as the current ones."""
    for account, region, endpoint in ministack.in_all_scopes(endpoints):
        with ministack.scope(account, region):
            yield endpoint


def install() -> None:
    clock.repeat(_put_backlogs, clock.shortened(_BACKLOG_INTERVAL_IN_SECONDS))
    clock.repeat(_put_concurrencies, clock.shortened(_CONCURRENCY_INTERVAL_IN_SECONDS))
