"""What SageMaker does at intervals: metrics of backlogs, requests and instances, and the end of idle instances."""

from collections.abc import Iterator
from typing import Any

from local_cloud.emulator.core import clock, ministack
from local_cloud.emulator.sagemaker.components.endpoint import ComponentEndpoint
from local_cloud.emulator.sagemaker.containers.metrics import NAMESPACE, dimensions_of
from local_cloud.emulator.sagemaker.endpoint import Endpoint
from local_cloud.emulator.sagemaker.requests.validation import instance_types
from local_cloud.emulator.sagemaker.store import components, endpoints
from local_cloud.emulator.services import cloudwatch

_BACKLOG_INTERVAL_IN_SECONDS = 60
_UTILIZATION_INTERVAL_IN_SECONDS = 60
_CONCURRENCY_INTERVAL_IN_SECONDS = 10
_OF_INSTANCES = "/aws/sagemaker/Endpoints"


def _put_backlogs() -> None:
    for endpoint in _each(endpoints):
        if isinstance(endpoint, Endpoint) and endpoint.queue and endpoint.group:
            _put_backlog(endpoint, instances=len(endpoint.traffic.healthy))


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
    for endpoint in _each(endpoints):
        if isinstance(endpoint, Endpoint) and endpoint.group and not endpoint.queue:
            dimensions = {"EndpointName": endpoint.name, "VariantName": endpoint.variant["VariantName"]}
            by_type = dimensions | {"InstanceType": instance_types(endpoint.variant)[0]}
            for instance in endpoint.traffic.healthy:
                values = {"ConcurrentRequestsPerModel": (float(instance.outstanding), "Count")}
                cloudwatch.record_metrics(NAMESPACE, dimensions, values)
                if "InstancePools" in endpoint.variant:
                    cloudwatch.record_metrics(NAMESPACE, by_type, values)


def _put_concurrencies_of_copies() -> None:
    for component in _each(components):
        for group in component.groups:
            for copy in group.healthy:
                values = {"ConcurrentRequestsPerCopy": (float(copy.outstanding), "Count")}
                cloudwatch.record_metrics(NAMESPACE, dimensions_of(group.spec), values)


def _put_utilization() -> None:
    """Record a datum for each instance in service: their number is true, the share of the CPU is made up."""
    for endpoint in _each(endpoints):
        for variant in endpoint.describe().get("ProductionVariants", []):
            dimensions = {"EndpointName": endpoint.name, "VariantName": variant["VariantName"]}
            for _ in range(variant["CurrentInstanceCount"]):
                cloudwatch.record_metrics(_OF_INSTANCES, dimensions, {"CPUUtilization": (1.0, "Percent")})


def _release_idle_instances() -> None:
    for endpoint in _each(endpoints):
        if isinstance(endpoint, ComponentEndpoint):
            endpoint.fleet.release_idle()


def _each(store: Any) -> Iterator[Any]:
    """Every value of a store, with its account and region as the current ones."""
    for account, region, value in ministack.in_all_scopes(store):
        with ministack.scope(account, region):
            yield value


def install() -> None:
    clock.repeat(_put_backlogs, clock.shortened(_BACKLOG_INTERVAL_IN_SECONDS))
    clock.repeat(_put_utilization, clock.shortened(_UTILIZATION_INTERVAL_IN_SECONDS))
    for chore in (_put_concurrencies, _put_concurrencies_of_copies, _release_idle_instances):
        clock.repeat(chore, clock.shortened(_CONCURRENCY_INTERVAL_IN_SECONDS))
