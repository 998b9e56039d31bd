"""Application Auto Scaling follows the policies of a template: to zero and back, within limits, and no others."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import pytest

from local_cloud.cloud import LocalCloud, free_port
from support.asynchronous_endpoints import (
    EVERYTHING,
    VARIANT,
    DeployedEndpoint,
    endpoint_resources,
    model_resources,
    named,
    variant,
)
from support.patience import wait_for
from support.small_stacks import REGION, Resources, StackFailedError, create, resource, role, update

PATIENT = {"InvocationTimeoutSeconds": 3600}  # the default is 7.5 s on this clock
SLOW = {"SLIPWAY_LOCAL_SECONDS_PER_TOKEN": "0.1"}
# The 15 minutes below the target, a cooldown, and starts of containers on a busy machine.
PATIENCE_IN_SECONDS = 240


@pytest.fixture(scope="module")
def fast_cloud() -> Iterator[LocalCloud]:
    """Its clock is 120 times as fast: the 15 minutes after which AWS scales in last 7.5 s."""
    with LocalCloud(port=free_port(), clock_speed=120) as cloud:
        cloud.wait_until_ready()
        yield cloud


def scalable_target(name: str, minimum: int, maximum: int) -> dict[str, Any]:
    properties = {
        "MinCapacity": minimum,
        "MaxCapacity": maximum,
        "ResourceId": f"endpoint/{name}/variant/{VARIANT}",
        "ScalableDimension": "sagemaker:variant:DesiredInstanceCount",
        "ServiceNamespace": "sagemaker",
    }
    return resource("ApplicationAutoScaling::ScalableTarget", properties, DependsOn="Endpoint")


def policy(name: str, kind: str, configuration: dict[str, Any]) -> dict[str, Any]:
    properties = {"PolicyName": name, "PolicyType": kind, "ScalingTargetId": {"Ref": "Target"}}
    return resource("ApplicationAutoScaling::ScalingPolicy", properties | {f"{kind}PolicyConfiguration": configuration})


def tracking(name: str, target: float, **more: Any) -> dict[str, Any]:
    """Follow the backlog per instance."""
    metric = {
        "MetricName": "ApproximateBacklogSizePerInstance",
        "Namespace": "AWS/SageMaker",
        "Dimensions": [{"Name": "EndpointName", "Value": name}],
        "Statistic": "Average",
    }
    configuration = {
        "TargetValue": target,
        "CustomizedMetricSpecification": metric,
        "ScaleInCooldown": 60,
        "ScaleOutCooldown": 60,
    }
    return policy("Backlog", "TargetTrackingScaling", configuration | more)


def waking(name: str, **more: Any) -> Resources:
    """An alarm on a backlog without instances, and the step that it takes."""
    step = {"MetricIntervalLowerBound": 0, "ScalingAdjustment": 1}
    configuration = {"AdjustmentType": "ChangeInCapacity", "StepAdjustments": [step], "Cooldown": 60}
    alarm = {
        "MetricName": "HasBacklogWithoutCapacity",
        "Namespace": "AWS/SageMaker",
        "Dimensions": [{"Name": "EndpointName", "Value": name}],
        "Statistic": "Maximum",
        "Period": 60,
        "EvaluationPeriods": 1,
        "Threshold": 1,
        "ComparisonOperator": "GreaterThanOrEqualToThreshold",
        "TreatMissingData": "missing",
        "AlarmActions": [{"Ref": "Wake"}],
    }
    return {"Wake": policy("Wake", "StepScaling", configuration), "Alarm": resource("CloudWatch::Alarm", alarm | more)}


def wait_for_instances(endpoint: DeployedEndpoint, count: int) -> None:
    what = f"{count} instances of {endpoint.name}"
    wait_for(lambda: endpoint.instances() == count or None, what, PATIENCE_IN_SECONDS)


def test_an_idle_endpoint_goes_to_zero_and_the_first_request_wakes_it_each_time(fast_cloud: LocalCloud) -> None:
    name = "sleeper"
    scaling = {"Target": scalable_target(name, 0, 2), "Backlog": tracking(name, 5), **waking(name)}
    endpoint = DeployedEndpoint(fast_cloud, name, endpoint_resources() | scaling)
    for _ in range(2):
        wait_for_instances(endpoint, 0)
        told = endpoint.told_of(endpoint.submit(**PATIENT), seconds=PATIENCE_IN_SECONDS)
        assert told["invocationStatus"] == "Completed"
    wait_for_instances(endpoint, 0)


def test_a_backlog_is_shared_among_as_many_instances_as_it_asks_for_but_no_more_than_allowed(
    fast_cloud: LocalCloud,
) -> None:
    name = "crowded"
    scaling = {"Target": scalable_target(name, 0, 3), "Backlog": tracking(name, 2)}
    endpoint = DeployedEndpoint(fast_cloud, name, endpoint_resources(environment=SLOW, concurrency=1) | scaling)
    endpoint.scale_to(0)
    responses = [endpoint.submit({"inputs": "a", "parameters": {"max_new_tokens": 5}}, **PATIENT) for _ in range(30)]
    wait_for_instances(endpoint, 3)
    assert endpoint.desired_instances() == 3
    statuses = {endpoint.told_of(each, seconds=PATIENCE_IN_SECONDS)["invocationStatus"] for each in responses}
    assert statuses == {"Completed"}
    wait_for_instances(endpoint, 0)


def test_nothing_is_scaled_that_no_policy_asks_to(fast_cloud: LocalCloud) -> None:
    scalings = {
        "floored": {"Target": scalable_target("floored", 1, 2), "Backlog": tracking("floored", 5)},
        "one-way": {
            "Target": scalable_target("one-way", 0, 2),
            "Backlog": tracking("one-way", 5, DisableScaleIn=True),
        },
        "unobserved": {"Target": scalable_target("unobserved", 0, 2), "Backlog": tracking("somebody-else", 5)},
        "abandoned": {"Target": scalable_target("abandoned", 1, 2), "Backlog": tracking("abandoned", 5)},
        "patient": {"Target": scalable_target("patient", 0, 2), "Backlog": tracking("patient", 5)},
        "muted": {"Target": scalable_target("muted", 0, 2), **waking("muted", ActionsEnabled=False)},
    }
    kept = {
        name: DeployedEndpoint(fast_cloud, name, endpoint_resources() | scaling) for name, scaling in scalings.items()
    }
    for minimum in (1, 0):  # one after the other, so that the policy never may go to 0
        without_policy = endpoint_resources() | {"Target": scalable_target("abandoned", minimum, 2)}
        update(fast_cloud, "abandoned", named(without_policy, "abandoned"))
    for name in ("patient", "muted"):
        kept[name].scale_to(0)
        kept[name].submit()  # fewer than the target, and no policy that wakes
    # Made last, so its 15 minutes end last.
    control = {"Target": scalable_target("control", 0, 2), "Backlog": tracking("control", 5)}
    wait_for_instances(DeployedEndpoint(fast_cloud, "control", endpoint_resources() | control), 0)
    counts = {name: endpoint.instances() for name, endpoint in kept.items()}
    assert counts == {"floored": 1, "one-way": 1, "unobserved": 1, "abandoned": 1, "patient": 0, "muted": 0}


def test_nothing_is_scaled_while_an_update_is_under_way(fast_cloud: LocalCloud) -> None:
    name = "updated"
    scaling = {"Target": scalable_target(name, 1, 3), "Backlog": tracking(name, 2)}
    endpoint = DeployedEndpoint(fast_cloud, name, endpoint_resources(environment=SLOW, concurrency=1) | scaling)
    # Both fleets run for 10 minutes, which are 5 s here; three of them would be enough to scale out.
    endpoint.sagemaker.update_endpoint(
        EndpointName=name,
        EndpointConfigName=endpoint.config()["EndpointConfigName"],
        DeploymentConfig={
            "BlueGreenUpdatePolicy": {
                "TrafficRoutingConfiguration": {"Type": "ALL_AT_ONCE", "WaitIntervalInSeconds": 0},
                "TerminationWaitInSeconds": 600,
            }
        },
    )
    began = endpoint.describe()["LastModifiedTime"]
    for _ in range(40):
        endpoint.submit({"inputs": "a", "parameters": {"max_new_tokens": 20}})

    def next_modification() -> timedelta | None:
        return endpoint.describe()["LastModifiedTime"] - began or None

    # Its status would not do: scaling is "Updating", too, and may follow the update between two looks.
    assert wait_for(next_modification, "the next modification") >= timedelta(seconds=5)
    wait_for_instances(endpoint, 3)


def test_a_realtime_endpoint_follows_the_requests_in_flight(fast_cloud: LocalCloud) -> None:
    name = "busy"
    specification = {"PredefinedMetricType": "SageMakerVariantConcurrentRequestsPerModelHighResolution"}
    configuration = {
        "TargetValue": 1,
        "PredefinedMetricSpecification": specification,
        "ScaleOutCooldown": 60,
        "ScaleInCooldown": 60,
    }
    create(
        fast_cloud,
        name,
        realtime_resources(name)
        | {
            "Target": scalable_target(name, 1, 2),
            "Policy": policy("Concurrency", "TargetTrackingScaling", configuration),
        },
    )
    with calling(fast_cloud, name, callers=4):
        wait_for(lambda: instances(fast_cloud, name) == 2 or None, "two instances", PATIENCE_IN_SECONDS)
    wait_for(lambda: instances(fast_cloud, name) == 1 or None, "one instance", PATIENCE_IN_SECONDS)


@pytest.mark.parametrize(
    ("minimum", "policy_", "said"),
    [
        (0, policy("floor", "StepScaling", {"AdjustmentType": "ExactCapacity"}), "must be at least 1"),
        (1, policy("stepless", "StepScaling", {"AdjustmentType": "ExactCapacity"}), "At least one step adjustment"),
        (1, policy("doubled", "StepScaling", {"AdjustmentType": "Double"}), "AdjustmentType"),
        (1, policy("other", "PredictiveScaling", {}), "PolicyType"),
        (
            1,
            policy(
                "predefined",
                "TargetTrackingScaling",
                {
                    "TargetValue": 1,
                    "PredefinedMetricSpecification": {"PredefinedMetricType": "SageMakerVariantInvocationsPerInstance"},
                },
            ),
            "SageMakerVariantInvocationsPerInstance",
        ),
        (
            1,
            policy(
                "math", "TargetTrackingScaling", {"TargetValue": 1, "CustomizedMetricSpecification": {"Metrics": []}}
            ),
            "metric math",
        ),
    ],
)
def test_scaling_that_could_not_be_followed_is_refused(
    fast_cloud: LocalCloud, minimum: int, policy_: dict[str, Any], said: str
) -> None:
    name = f"refused-{policy_['Properties']['PolicyName']}"
    resources = realtime_resources(name) | {"Target": scalable_target(name, minimum, 2), "Policy": policy_}
    with pytest.raises(StackFailedError) as caught:
        create(fast_cloud, name, resources)
    assert any(said in reason for reason in caught.value.reasons), caught.value.reasons


def realtime_resources(name: str) -> Resources:
    return {
        "Role": role(EVERYTHING, service="sagemaker"),
        **model_resources(SLOW),
        "Config": resource("SageMaker::EndpointConfig", {"ProductionVariants": [variant()]}),
        "Endpoint": resource(
            "SageMaker::Endpoint",
            {"EndpointName": name, "EndpointConfigName": {"Fn::GetAtt": ["Config", "EndpointConfigName"]}},
        ),
    }


def instances(cloud: LocalCloud, name: str) -> int:
    found = cloud.client("sagemaker", region=REGION).describe_endpoint(EndpointName=name)
    count: int = found["ProductionVariants"][0]["CurrentInstanceCount"]
    return count


@contextmanager
def calling(cloud: LocalCloud, name: str, callers: int) -> Iterator[None]:
    """So many callers, each with one request in flight until the block ends."""
    ended, body = threading.Event(), json.dumps({"inputs": "a", "parameters": {"max_new_tokens": 5}}).encode()

    def call() -> None:
        runtime = cloud.client("sagemaker-runtime", region=REGION)
        while not ended.is_set():
            runtime.invoke_endpoint(EndpointName=name, Body=body)["Body"].read()

    threads = [threading.Thread(target=call) for _ in range(callers)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        ended.set()
        for thread in threads:
            thread.join()
