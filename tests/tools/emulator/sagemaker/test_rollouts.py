"""Rollouts that SageMaker refuses: shares and batches that do not fit the instances, and waits out of range."""

from collections.abc import Iterator
from typing import Any

import pytest
from botocore.exceptions import ClientError

from local_cloud.cloud import LocalCloud
from support.stacks.asynchronous_endpoints import realtime_resources, variant
from support.stacks.small_stacks import REGION, StackFailedError, create, delete, resource, update

COUNTS = (1, 2, 3, 4, 21)


@pytest.fixture(scope="module")
def configurations(bare_cloud: LocalCloud) -> Iterator[dict[int, str]]:
    """Names of configurations by their number of instances."""
    resources = realtime_resources("unused")
    del resources["Endpoint"], resources["Config"]
    for count in COUNTS:
        named = {"EndpointConfigName": f"with-{count}", "ProductionVariants": [{**variant(), **instances(count)}]}
        resources[f"Config{count}"] = resource("SageMaker::EndpointConfig", named)
    create(bare_cloud, "configurations", resources)
    yield {count: f"with-{count}" for count in COUNTS}
    delete(bare_cloud, "configurations")


def instances(count: int) -> dict[str, int]:
    return {"InitialInstanceCount": count}


def canary(kind: str, value: int, **policy: Any) -> dict[str, Any]:
    size = {"Type": kind, "Value": value}
    traffic = {"Type": "CANARY", "CanarySize": size, "WaitIntervalInSeconds": 600}
    return {"BlueGreenUpdatePolicy": {"TrafficRoutingConfiguration": traffic, **policy}}


def rolling(batch: int) -> dict[str, Any]:
    size = {"Type": "INSTANCE_COUNT", "Value": batch}
    return {"RollingUpdatePolicy": {"MaximumBatchSize": size, "WaitIntervalInSeconds": 300}}


LINEAR = {"TrafficRoutingConfiguration": {"Type": "LINEAR", "WaitIntervalInSeconds": 60}}


@pytest.mark.parametrize(
    ("deployment", "count", "said"),
    [
        (canary("CAPACITY_PERCENT", 10), 1, "The CanarySize is 1 of 1 instance"),
        (canary("INSTANCE_COUNT", 2), 3, "less than or equal to 50%"),
        (canary("CAPACITY_PERCENT", 50, MaximumExecutionTimeoutInSeconds=600), 2, "larger than the total waiting time"),
        (canary("CAPACITY_PERCENT", 50, TerminationWaitInSeconds=3601), 2, "less than or equal to 3600"),
        (rolling(1), 1, "The MaximumBatchSize is 1 of 1 instance"),
        (rolling(1), 21, "between 5% and 50%"),
        (rolling(1) | canary("INSTANCE_COUNT", 1), 2, "Only one update policy"),
        ({"BlueGreenUpdatePolicy": LINEAR}, 4, "ALL_AT_ONCE and CANARY, not LINEAR"),
    ],
)
def test_a_rollout_that_sagemaker_refuses_is_refused(
    bare_cloud: LocalCloud, configurations: dict[int, str], deployment: dict[str, Any], count: int, said: str
) -> None:
    sagemaker = bare_cloud.client("sagemaker", region=REGION)
    with pytest.raises(ClientError, match=said):
        sagemaker.create_endpoint(
            EndpointName="refused", EndpointConfigName=configurations[count], DeploymentConfig=deployment
        )


def test_a_batch_must_fit_the_instances_that_run_too(bare_cloud: LocalCloud) -> None:
    name = "outgrown"
    create(bare_cloud, name, realtime_resources(name))
    grown = realtime_resources(name)
    grown["Config"]["Properties"]["ProductionVariants"][0] |= instances(2)
    grown["Endpoint"]["Properties"]["DeploymentConfig"] = rolling(1)
    with pytest.raises(StackFailedError, match="The MaximumBatchSize is 1 of 1 instance"):
        update(bare_cloud, name, grown)
    delete(bare_cloud, name)
