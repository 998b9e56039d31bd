"""Application Auto Scaling follows the policies of a template: to zero and back, and only within limits."""

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import psutil
import pytest
import requests
from botocore.exceptions import ClientError

from local_cloud.cloud import LocalCloud
from support.patience import wait_for
from support.stacks.asynchronous_endpoints import VARIANT, DeployedEndpoint, endpoint_resources, realtime_resources
from support.stacks.small_stacks import REGION, Resources, StackFailedError, create, delete, resource

# 280 s of real time: a request outlasts every advance, and ends with its container.
SLOW = {"SLIPWAY_LOCAL_SECONDS_PER_TOKEN": "1"}
LONG = {"inputs": "a", "parameters": {"max_new_tokens": 280}}
A_MINUTE = 60
TO_SCALE_OUT = 4 * A_MINUTE  # three periods above the target, and the current one
POOLS = ("ml.g6.2xlarge", "ml.g5.2xlarge")
TO_SCALE_IN = 17 * A_MINUTE  # fifteen periods below it, a cooldown, and the current one


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
    """A policy that follows the backlog per instance."""
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
    """An alarm on a backlog without instances, and its step scaling policy."""
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


def test_an_idle_endpoint_goes_to_zero_and_the_first_request_wakes_it_each_time(bare_cloud: LocalCloud) -> None:
    name = "sleeper"
    scaling = {"Target": scalable_target(name, 0, 2), "Backlog": tracking(name, 5), **waking(name)}
    endpoint = DeployedEndpoint(bare_cloud, name, endpoint_resources() | scaling)
    for _ in range(2):
        bare_cloud.advance(TO_SCALE_IN)
        assert endpoint.instances() == 0
        woken_by = endpoint.submit()
        bare_cloud.advance(A_MINUTE)
        assert endpoint.told_of(woken_by)["invocationStatus"] == "Completed"


def test_a_backlog_gets_as_many_instances_as_it_asks_for_but_no_more_than_allowed(bare_cloud: LocalCloud) -> None:
    name = "crowded"
    scaling = {"Target": scalable_target(name, 0, 3), "Backlog": tracking(name, 2)}
    endpoint = DeployedEndpoint(bare_cloud, name, endpoint_resources(concurrency=1) | scaling)
    endpoint.scale_to(0)
    responses = [endpoint.submit() for _ in range(10)]
    bare_cloud.advance(A_MINUTE)
    assert endpoint.desired_instances() == 0
    bare_cloud.advance(TO_SCALE_OUT - A_MINUTE)
    assert endpoint.instances() == endpoint.desired_instances() == 3
    assert {endpoint.told_of(each)["invocationStatus"] for each in responses} == {"Completed"}
    bare_cloud.advance(TO_SCALE_IN)
    assert endpoint.instances() == 0


def test_the_next_scale_out_waits_for_the_cooldown_of_the_last(bare_cloud: LocalCloud) -> None:
    name = "cooling"
    scaling = {"Target": scalable_target(name, 0, 4), "Backlog": tracking(name, 4, ScaleOutCooldown=600)}
    endpoint = DeployedEndpoint(bare_cloud, name, endpoint_resources(environment=SLOW, concurrency=1) | scaling)
    for _ in range(8):
        endpoint.submit(LONG, InvocationTimeoutSeconds=3600)
    bare_cloud.advance(TO_SCALE_OUT)
    assert endpoint.desired_instances() == 2
    for _ in range(8):
        endpoint.submit(LONG, InvocationTimeoutSeconds=3600)
    bare_cloud.advance(TO_SCALE_OUT)
    assert endpoint.desired_instances() == 2
    bare_cloud.advance(600)
    assert endpoint.desired_instances() == 4


def test_an_endpoint_without_a_policy_is_not_scaled(bare_cloud: LocalCloud) -> None:
    scalings = {
        "floored": {"Target": scalable_target("floored", 1, 2), "Backlog": tracking("floored", 5)},
        "unobserved": {"Target": scalable_target("unobserved", 0, 2), "Backlog": tracking("somebody-else", 5)},
        "patient": {"Target": scalable_target("patient", 0, 2), "Backlog": tracking("patient", 5)},
        "muted": {"Target": scalable_target("muted", 0, 2), **waking("muted", ActionsEnabled=False)},
        "control": {"Target": scalable_target("control", 0, 2), "Backlog": tracking("control", 5)},
    }
    endpoints = {
        name: DeployedEndpoint(bare_cloud, name, endpoint_resources() | scaling) for name, scaling in scalings.items()
    }
    for name in ("patient", "muted"):
        endpoints[name].scale_to(0)
        endpoints[name].submit()  # fewer than the target, without a policy that wakes the endpoint
    bare_cloud.advance(TO_SCALE_IN)
    counts = {name: endpoint.instances() for name, endpoint in endpoints.items()}
    assert counts == {"floored": 1, "unobserved": 1, "patient": 0, "muted": 0, "control": 0}


def test_an_update_needs_another_configuration(bare_cloud: LocalCloud) -> None:
    endpoint = DeployedEndpoint(bare_cloud, "same", endpoint_resources())
    with pytest.raises(ClientError, match="already; an update needs a new one"):
        endpoint.sagemaker.update_endpoint(
            EndpointName="same", EndpointConfigName=endpoint.config()["EndpointConfigName"]
        )


def test_nothing_is_scaled_while_an_update_is_under_way(bare_cloud: LocalCloud) -> None:
    name = "updated"
    scaling = {"Target": scalable_target(name, 1, 3), "Backlog": tracking(name, 2)}
    endpoint = DeployedEndpoint(bare_cloud, name, endpoint_resources(environment=SLOW, concurrency=1) | scaling)
    variants = endpoint.config()["ProductionVariants"]
    asynchronous = endpoint.config()["AsyncInferenceConfig"]
    endpoint.sagemaker.create_endpoint_config(
        EndpointConfigName="newer", ProductionVariants=variants, AsyncInferenceConfig=asynchronous
    )
    endpoint.sagemaker.update_endpoint(
        EndpointName=name,
        EndpointConfigName="newer",
        DeploymentConfig={
            "BlueGreenUpdatePolicy": {
                "TrafficRoutingConfiguration": {"Type": "ALL_AT_ONCE", "WaitIntervalInSeconds": 0},
                "TerminationWaitInSeconds": 1200,
            }
        },
    )
    for _ in range(8):
        endpoint.submit(LONG, InvocationTimeoutSeconds=3600)
    bare_cloud.advance(1000)
    assert (endpoint.describe()["EndpointStatus"], endpoint.desired_instances()) == ("Updating", 1)
    psutil.Process(containers(bare_cloud, name)[0]["pid"]).kill()  # otherwise the old instances answer first
    bare_cloud.advance(200 + TO_SCALE_OUT)
    assert (endpoint.describe()["EndpointStatus"], endpoint.desired_instances()) == ("InService", 3)


def of_one_type(name: str) -> dict[str, Any]:
    metric = "SageMakerVariantConcurrentRequestsPerModelHighResolution"
    return {"PredefinedMetricSpecification": {"PredefinedMetricType": metric}}


def of_the_busiest_of_two_types(name: str) -> dict[str, Any]:
    queries: list[dict[str, Any]] = []
    for number, instance_type in enumerate(POOLS, start=1):
        dimensions = {"EndpointName": name, "VariantName": VARIANT, "InstanceType": instance_type}
        metric = {
            "Namespace": "AWS/SageMaker",
            "MetricName": "ConcurrentRequestsPerModel",
            "Dimensions": [{"Name": each, "Value": value} for each, value in dimensions.items()],
        }
        queries.append({"Id": f"type{number}", "MetricStat": {"Metric": metric, "Stat": "Average"}})
    queries.append({"Id": "busiest", "Expression": "MAX([FILL(type1, 0), FILL(type2, 0)])"})
    return {"CustomizedMetricSpecification": {"Metrics": queries}}


@pytest.mark.parametrize(
    ("name", "load", "pools", "seconds"),
    [("busy", of_one_type, (), A_MINUTE), ("pooled", of_the_busiest_of_two_types, POOLS, TO_SCALE_OUT)],
)
def test_a_realtime_endpoint_follows_the_requests_in_flight(
    bare_cloud: LocalCloud, name: str, load: Callable[[str], dict[str, Any]], pools: tuple[str, ...], seconds: int
) -> None:
    following = policy("Concurrency", "TargetTrackingScaling", {"TargetValue": 1} | load(name))
    resources = realtime_resources(name, SLOW)
    if pools:
        production_variant = resources["Config"]["Properties"]["ProductionVariants"][0]
        del production_variant["InstanceType"]
        production_variant["InstancePools"] = [
            {"InstanceType": each, "Priority": priority} for priority, each in enumerate(pools, start=1)
        ]
    create(bare_cloud, name, resources | {"Target": scalable_target(name, 1, 2), "Policy": following})

    def call(_: int) -> None:
        runtime = bare_cloud.client("sagemaker-runtime", region=REGION)
        with suppress(ClientError):  # the endpoint was deleted
            runtime.invoke_endpoint(EndpointName=name, Body=json.dumps(LONG).encode())["Body"].read()

    with ThreadPoolExecutor(4) as callers:
        callers.map(call, range(4))
        wait_for(lambda: containers(bare_cloud, name)[0]["outstanding"] == 4 or None, "four requests in flight")
        bare_cloud.advance(seconds)
        assert len(containers(bare_cloud, name)) == 2
        delete(bare_cloud, name)


def test_a_realtime_endpoint_is_not_scaled_to_zero(bare_cloud: LocalCloud) -> None:
    resources = realtime_resources("floor", SLOW) | {"Target": scalable_target("floor", 0, 2)}
    with pytest.raises(StackFailedError, match="must be at least 1"):
        create(bare_cloud, "floor", resources)


def containers(cloud: LocalCloud, name: str) -> list[dict[str, Any]]:
    found = requests.get(f"{cloud.url}/_slipway/containers", timeout=30).json()
    return [each for each in found if each["endpoint"] == name]
