"""Copies of inference components follow policies and schedules: to zero and back, with the instances behind them."""

import json
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
import requests
from botocore.exceptions import ClientError

from local_cloud.cloud import LocalCloud
from support.patience import wait_for
from support.stacks.component_endpoints import DeployedComponent, scalable_target
from support.stacks.small_stacks import REGION, Resources, StackFailedError, resource

BERLIN = ZoneInfo("Europe/Berlin")
A_MINUTE = 60
TO_ZERO = 17 * A_MINUTE  # fifteen minutes below the target, and the current period
TO_RELEASE = 11 * A_MINUTE
NO_CAPACITY = "Inference Component has no capacity"


def tracking() -> dict[str, Any]:
    metric = "SageMakerInferenceComponentConcurrentRequestsPerCopyHighResolution"
    return policy(
        "Load",
        "TargetTrackingScaling",
        {
            "TargetValue": 2,
            "PredefinedMetricSpecification": {"PredefinedMetricType": metric},
        },
    )


def policy(name: str, kind: str, configuration: dict[str, Any]) -> dict[str, Any]:
    properties = {"PolicyName": name, "PolicyType": kind, "ScalingTargetId": {"Ref": "Target"}}
    return resource("ApplicationAutoScaling::ScalingPolicy", properties | {f"{kind}PolicyConfiguration": configuration})


def waking(name: str) -> Resources:
    """An alarm on refused calls, and its step scaling policy."""
    step = {"MetricIntervalLowerBound": 0, "ScalingAdjustment": 1}
    configuration = {
        "AdjustmentType": "ChangeInCapacity",
        "MetricAggregationType": "Maximum",
        "StepAdjustments": [step],
        "Cooldown": 60,
    }
    alarm = {
        "MetricName": "NoCapacityInvocationFailures",
        "Namespace": "AWS/SageMaker",
        "Dimensions": [{"Name": "InferenceComponentName", "Value": name}],
        "Statistic": "Maximum",
        "Period": 30,
        "EvaluationPeriods": 1,
        "Threshold": 1,
        "ComparisonOperator": "GreaterThanOrEqualToThreshold",
        "TreatMissingData": "missing",
        "AlarmActions": [{"Ref": "Wake"}],
    }
    return {"Wake": policy("Wake", "StepScaling", configuration), "Alarm": resource("CloudWatch::Alarm", alarm)}


def test_an_idle_component_goes_to_zero_with_its_instance_and_a_refused_call_wakes_it(bare_cloud: LocalCloud) -> None:
    name = "sleeping-component"
    component = DeployedComponent(
        bare_cloud, name, more={"Target": scalable_target(name), "Load": tracking(), **waking(name)}
    )
    for _ in range(2):
        bare_cloud.advance(TO_ZERO)
        assert (component.copies(), component.instances()) == ((0, 0), 1)
        bare_cloud.advance(TO_RELEASE)
        assert component.instances() == 0
        with pytest.raises(ClientError, match=NO_CAPACITY):
            component.call()
        bare_cloud.advance(A_MINUTE)
        assert (component.copies(), component.instances()) == ((1, 1), 1)
        assert "generated_text" in component.call()


def test_a_busy_component_gets_another_copy_on_another_instance(bare_cloud: LocalCloud) -> None:
    name = "busy-component"
    slow = {"SLIPWAY_LOCAL_SECONDS_PER_TOKEN": "1"}
    more = {"Target": scalable_target(name, 1), "Load": tracking()}
    component = DeployedComponent(bare_cloud, name, slow, more)

    def call(_: int) -> None:
        runtime = bare_cloud.client("sagemaker-runtime", region=REGION)
        body = json.dumps({"inputs": "a", "parameters": {"max_new_tokens": 50}}).encode()
        with suppress(ClientError):  # cut by the end of its copy
            runtime.invoke_endpoint(EndpointName=name, InferenceComponentName=name, Body=body)["Body"].read()

    with ThreadPoolExecutor(4) as callers:
        callers.map(call, range(4))
        wait_for(lambda: outstanding(bare_cloud, name) == 4 or None, "four requests in flight")
        bare_cloud.advance(A_MINUTE)
        assert (component.copies(), component.instances()) == ((2, 2), 2)
        component.scale_to(0)
        assert outstanding(bare_cloud, name) == 0


def outstanding(cloud: LocalCloud, name: str) -> int:
    found = requests.get(f"{cloud.url}/_slipway/containers", timeout=30).json()
    return sum(each["outstanding"] for each in found if each["component"] == name)


def test_a_schedule_keeps_a_copy_in_its_hours_of_the_time_zone(bare_cloud: LocalCloud) -> None:
    name = "scheduled-component"
    start = now(bare_cloud) + timedelta(minutes=30)

    def action(label: str, moment: datetime, minimum: int) -> dict[str, Any]:
        return {
            "ScheduledActionName": label,
            "Schedule": f"cron({moment.minute} {moment.hour} * * ? *)",
            "Timezone": "Europe/Berlin",
            "ScalableTargetAction": {"MinCapacity": minimum},
        }

    actions = [action("Start", start, 1), action("End", start + timedelta(hours=2), 0)]
    target = scalable_target(name, ScheduledActions=actions)
    component = DeployedComponent(bare_cloud, name, more={"Target": target, "Load": tracking()})
    bare_cloud.advance(25 * A_MINUTE)
    assert component.copies() == (0, 0)
    bare_cloud.advance(6 * A_MINUTE)
    assert component.copies() == (1, 1)
    bare_cloud.advance(100 * A_MINUTE)
    assert component.copies() == (1, 1)
    bare_cloud.advance(40 * A_MINUTE)
    assert component.copies() == (0, 0)


def now(cloud: LocalCloud) -> datetime:
    seconds = requests.get(f"{cloud.url}/_slipway/clock", timeout=30).json()["now"]
    return datetime.fromtimestamp(seconds, BERLIN)


def daily(name: str, schedule: str = "cron(0 8 * * ? *)", **more: str) -> dict[str, Any]:
    """A scheduled action."""
    limits = {"MinCapacity": 1}
    return {"ScheduledActionName": name, "Schedule": schedule, "ScalableTargetAction": limits} | more


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"ScalableDimension": "sagemaker:variant:DesiredInstanceCount"}, "DesiredCopyCount only"),
        ({"ResourceId": "inference-component/nobody"}, "not found: inference-component/nobody"),
        ({"MinCapacity": 3}, "Maximum capacity cannot be less"),
        ({"ScheduledActions": [daily("Day", "cron(0 8 * * *)")]}, "six fields"),
        ({"ScheduledActions": [daily("Day", Timezone="Berlin")]}, "Berlin is not the name of a time zone"),
        ({"ScheduledActions": [daily("Day"), daily("Day")]}, "Day, Day are not all different"),
    ],
)
def test_a_wrong_target_is_refused(bare_cloud: LocalCloud, change: dict[str, Any], message: str) -> None:
    with pytest.raises(StackFailedError, match=message):
        DeployedComponent(bare_cloud, "wrong", more={"Target": scalable_target("wrong", **change)})
