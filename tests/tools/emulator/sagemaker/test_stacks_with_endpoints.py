"""Stacks handle endpoints that are being created, scaled or rolled back as on AWS."""

from concurrent.futures import ThreadPoolExecutor, wait
from typing import Any

import pytest
from botocore.exceptions import ClientError

from local_cloud.cloud import LocalCloud
from support.patience import wait_for
from support.stacks.asynchronous_endpoints import VARIANT, realtime_resources
from support.stacks.small_stacks import REGION, Resources, StackFailedError, create, delete, resource, update

FIVE_MINUTES = {"SLIPWAY_LOCAL_STARTUP_SECONDS": "300"}  # on the cloud's clock, which only tests put forward
KNOWN_GROUP = "/known/to/all"


@pytest.fixture(scope="module", autouse=True)
def known_group(bare_cloud: LocalCloud) -> None:
    bare_cloud.client("logs", region=REGION).create_log_group(logGroupName=KNOWN_GROUP)


def broken() -> dict[str, Any]:
    """A resource that starts with the endpoint and fails at once."""
    return resource("Logs::LogGroup", {"LogGroupName": KNOWN_GROUP}, DependsOn="Config")


def described(cloud: LocalCloud, name: str) -> dict[str, Any]:
    found: dict[str, Any] = cloud.client("sagemaker", region=REGION).describe_endpoint(EndpointName=name)
    return found


def status(cloud: LocalCloud, name: str) -> str:
    return str(described(cloud, name)["EndpointStatus"])


def reasons(cloud: LocalCloud, stack: str, logical_id: str) -> list[str]:
    """The reasons for a resource's failures, oldest first."""
    events = cloud.client("cloudformation", region=REGION).describe_stack_events(StackName=stack)["StackEvents"]
    mine = [each for each in reversed(events) if each["LogicalResourceId"] == logical_id]
    return [each["ResourceStatusReason"] for each in mine if each["ResourceStatus"].endswith("FAILED")]


def test_a_failure_beside_an_endpoint_that_is_creating_leaves_it_behind(bare_cloud: LocalCloud) -> None:
    name = "beside"
    with pytest.raises(StackFailedError, match="ROLLBACK_FAILED"):
        create(bare_cloud, name, realtime_resources(name, FIVE_MINUTES) | {"Broken": broken()})
    cancelled, refused = reasons(bare_cloud, name, "Endpoint")
    assert cancelled == "Resource creation cancelled"
    assert "Cannot update in-progress endpoint" in refused
    assert status(bare_cloud, name) == "Creating"
    bare_cloud.advance(300)
    assert status(bare_cloud, name) == "InService"
    delete(bare_cloud, name)
    with pytest.raises(ClientError, match="Could not find endpoint"):
        described(bare_cloud, name)


def test_a_stack_whose_endpoint_is_creating_is_not_deleted(bare_cloud: LocalCloud) -> None:
    name = "hasty"
    with ThreadPoolExecutor(1) as executor:
        creating = executor.submit(create, bare_cloud, name, realtime_resources(name, FIVE_MINUTES))
        wait_for(lambda: started(bare_cloud, name) or None, "the endpoint")
        with pytest.raises(StackFailedError, match=r"DELETE_FAILED.*Cannot update in-progress endpoint"):
            delete(bare_cloud, name)
        bare_cloud.advance(300)
        assert isinstance(creating.exception(), StackFailedError)
    cloudformation = bare_cloud.client("cloudformation", region=REGION)
    (stack,) = cloudformation.describe_stacks(StackName=name)["Stacks"]
    assert stack["StackStatus"] == "DELETE_FAILED"
    delete(bare_cloud, name)


def test_an_endpoint_that_is_scaled_is_neither_updated_nor_deleted(bare_cloud: LocalCloud) -> None:
    name = "busy-scaling"
    with ThreadPoolExecutor(1) as executor:
        creating = executor.submit(create, bare_cloud, name, realtime_resources(name, FIVE_MINUTES))
        wait_for(lambda: started(bare_cloud, name) or None, "the endpoint")
        bare_cloud.advance(300)
        creating.result()
    two = [{"VariantName": VARIANT, "DesiredInstanceCount": 2}]
    sagemaker = bare_cloud.client("sagemaker", region=REGION)
    sagemaker.update_endpoint_weights_and_capacities(EndpointName=name, DesiredWeightsAndCapacities=two)
    with pytest.raises(StackFailedError, match="Cannot update in-progress endpoint"):
        update(bare_cloud, name, realtime_resources(name))
    with pytest.raises(StackFailedError, match=r"DELETE_FAILED.*Cannot update in-progress endpoint"):
        delete(bare_cloud, name)
    bare_cloud.advance(300)
    delete(bare_cloud, name)


def started(cloud: LocalCloud, name: str) -> bool:
    return any(
        each["EndpointName"] == name for each in cloud.client("sagemaker", region=REGION).list_endpoints()["Endpoints"]
    )


def guarded(name: str, **environment: str) -> Resources:
    """An endpoint with an alarm that, for an hour, rolls updates back while old and new instances run."""
    alarm = {
        "AlarmName": f"{name}-errors",
        "Namespace": "AWS/SageMaker",
        "MetricName": "Invocation5XXErrors",
        "Statistic": "Sum",
        "Period": 60,
        "EvaluationPeriods": 1,
        "Threshold": 1,
        "ComparisonOperator": "GreaterThanOrEqualToThreshold",
    }
    policy = {
        "TrafficRoutingConfiguration": {"Type": "ALL_AT_ONCE", "WaitIntervalInSeconds": 0},
        "TerminationWaitInSeconds": 3600,
    }
    resources = realtime_resources(name, environment)
    resources["Endpoint"]["Properties"]["DeploymentConfig"] = {
        "BlueGreenUpdatePolicy": policy,
        "AutoRollbackConfiguration": {"Alarms": [{"AlarmName": {"Ref": "Alarm"}}]},
    }
    return resources | {"Alarm": resource("CloudWatch::Alarm", alarm)}


def update_with_alarm(cloud: LocalCloud, name: str, resources: Resources) -> None:
    """Update the stack while the alarm is on."""
    cloudwatch = cloud.client("cloudwatch", region=REGION)
    with ThreadPoolExecutor(1) as executor:
        updating = executor.submit(update, cloud, name, resources)
        wait_for(lambda: status(cloud, name) == "Updating" or None, "the update")
        while not wait([updating], timeout=0.2).done:
            cloudwatch.set_alarm_state(AlarmName=f"{name}-errors", StateValue="ALARM", StateReason="a test")
            cloud.advance(10)
        updating.result()


def test_a_rollback_by_an_alarm_passes_for_an_update_and_the_next_one_needs_the_old_configuration(
    bare_cloud: LocalCloud,
) -> None:
    name = "rolled-back"
    create(bare_cloud, name, guarded(name))
    before = described(bare_cloud, name)["EndpointConfigName"]
    retained = guarded(name, MAX_CONCURRENT_REQUESTS="32")
    retained["Config"]["UpdateReplacePolicy"] = "Retain"
    update_with_alarm(bare_cloud, name, retained)
    found = described(bare_cloud, name)
    assert (found["EndpointStatus"], found["EndpointConfigName"]) == ("InService", before)
    assert "FailureReason" not in found
    update_with_alarm(bare_cloud, name, guarded(name, MAX_CONCURRENT_REQUESTS="16"))
    sagemaker = bare_cloud.client("sagemaker", region=REGION)
    sagemaker.delete_endpoint_config(EndpointConfigName=before)
    with pytest.raises(StackFailedError, match="Could not find endpoint configuration"):
        update(bare_cloud, name, guarded(name, MAX_CONCURRENT_REQUESTS="8"))


def test_required_members_are_demanded_of_unchecked_templates_too(bare_cloud: LocalCloud) -> None:
    resources = guarded("incomplete")
    policy = resources["Endpoint"]["Properties"]["DeploymentConfig"]["BlueGreenUpdatePolicy"]
    del policy["TrafficRoutingConfiguration"]["WaitIntervalInSeconds"]
    with pytest.raises(StackFailedError, match="WaitIntervalInSeconds"):
        create(bare_cloud, "incomplete", resources)
