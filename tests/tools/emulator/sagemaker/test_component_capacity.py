"""Instances behind components: packing, no room, no capacity, quotas, and an endpoint that moves its components."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
import requests
from botocore.exceptions import ClientError

from local_cloud.cloud import LocalCloud
from support.patience import wait_for
from support.stacks.asynchronous_endpoints import VARIANT, model_resources
from support.stacks.component_endpoints import DeployedComponent, component, endpoint_resources, order
from support.stacks.small_stacks import REGION, StackFailedError, create, delete, update

NAME = "capacity"
A_MINUTE = 60


@pytest.fixture(scope="module")
def deployed(bare_cloud: LocalCloud) -> DeployedComponent:
    return DeployedComponent(bare_cloud, NAME)


@pytest.fixture
def asleep(deployed: DeployedComponent) -> Iterator[DeployedComponent]:
    """The component at zero, without an instance; at the end it has its copy again."""
    deployed.scale_to(0)
    deployed.cloud.advance(11 * A_MINUTE)
    assert deployed.instances() == 0
    yield deployed
    requests.delete(f"{deployed.cloud.url}/_slipway/endpoint-instances", timeout=30).raise_for_status()
    order(deployed.cloud, {"start_seconds": 2})
    deployed.wait_until_settled()
    deployed.scale_to(1)


def test_an_instance_and_a_copy_each_take_their_time(asleep: DeployedComponent) -> None:
    order(asleep.cloud, {"start_seconds": 300})
    asleep.ask_for(1)
    asleep.cloud.advance(200)
    assert (asleep.copies(), asleep.instances()) == ((1, 0), 0)
    with pytest.raises(ClientError, match="Inference Component has no capacity"):
        asleep.call()
    for refused in (lambda: asleep.ask_for(1), lambda: asleep.sagemaker.delete_inference_component(**named(asleep))):
        with pytest.raises(ClientError, match="Cannot update in-progress inference component"):
            refused()
    asleep.cloud.advance(200)
    assert (asleep.copies(), asleep.instances()) == ((1, 1), 1)


def named(deployed: DeployedComponent) -> dict[str, str]:
    return {"InferenceComponentName": deployed.name}


def test_a_wake_without_capacity_tries_for_ten_minutes_and_may_be_asked_for_again(asleep: DeployedComponent) -> None:
    order(asleep.cloud, {"fault": "no_capacity", "count": 10})
    asleep.ask_for(1)
    asleep.cloud.advance(5 * A_MINUTE)
    assert asleep.describe()["InferenceComponentStatus"] == "Updating"
    asleep.cloud.advance(6 * A_MINUTE)
    found = asleep.describe()
    assert (found["InferenceComponentStatus"], asleep.copies()) == ("Failed", (0, 0))
    assert "Unable to provision requested ML compute capacity" in found["FailureReason"]
    asleep.scale_to(1)
    found = asleep.describe()
    assert (found["InferenceComponentStatus"], "FailureReason" in found) == ("InService", False)


def test_an_instance_beyond_the_quota_is_refused_at_once(asleep: DeployedComponent) -> None:
    order(asleep.cloud, {"fault": "quota"})
    with pytest.raises(ClientError, match="account-level service limit") as refused:
        asleep.ask_for(1)
    assert refused.value.response["Error"]["Code"] == "ResourceLimitExceeded"
    assert asleep.copies() == (0, 0)


def test_a_copy_beyond_the_most_instances_fails_and_the_others_stay(deployed: DeployedComponent) -> None:
    deployed.scale_to(3)
    found = deployed.describe()
    assert (found["InferenceComponentStatus"], deployed.copies()) == ("InService", (1, 1))
    assert "Insufficient hardware resources" in found["FailureReason"]
    assert "generated_text" in deployed.call()
    deployed.scale_to(2)
    assert (deployed.copies(), deployed.instances()) == ((2, 2), 2)
    deployed.scale_to(1)


def test_components_share_an_instance_as_far_as_their_needs_allow(bare_cloud: LocalCloud) -> None:
    name = "packed"

    def placed(label: str, **needs: int) -> dict[str, Any]:
        return component(label, name, **needs)

    # 4 accelerators and 191 GiB: the third finds too few accelerators, the fourth too little memory.
    resources = {**endpoint_resources(name, most=1), **model_resources({}), "A": placed("a", accelerators=2)}
    create(bare_cloud, name, resources)
    resources["B"] = placed("b", accelerators=1, memory=100 * 1024)
    update(bare_cloud, name, resources)
    for label, needs, reason in (
        ("c", {"accelerators": 2}, "Insufficient hardware resources"),
        ("d", {"accelerators": 1, "memory": 100 * 1024}, "Insufficient hardware resources"),
        ("e", {"accelerators": 8}, "an instance of type ml.g6.12xlarge has 4 accelerators"),
    ):
        with pytest.raises(StackFailedError, match=reason):
            update(bare_cloud, name, resources | {"Another": placed(label, **needs)})
    (instance,) = instances(bare_cloud, name)
    assert (instance["copies"], instance["free"]["accelerators"]) == (2, 1)
    runtime = bare_cloud.client("sagemaker-runtime", region=REGION)
    del resources["A"]
    update(bare_cloud, name, resources)
    answer = runtime.invoke_endpoint(EndpointName=name, InferenceComponentName="b", Body=b'{"inputs": "A"}')
    assert "generated_text" in json.load(answer["Body"])
    with pytest.raises(ClientError, match="while it hosts inference components: b"):
        bare_cloud.client("sagemaker", region=REGION).delete_endpoint(EndpointName=name)
    delete(bare_cloud, name)


def test_two_components_that_wake_together_share_the_instance_and_a_stack_is_not_deleted_meanwhile(
    bare_cloud: LocalCloud,
) -> None:
    name = "together"
    resources = {
        **endpoint_resources(name, most=1),
        **model_resources({}),
        "A": component("first", name, accelerators=2),
        "B": component("second", name, accelerators=2),
    }
    create(bare_cloud, name, resources)
    sagemaker = bare_cloud.client("sagemaker", region=REGION)

    def ask_for(count: int) -> None:
        for each in ("first", "second"):
            sagemaker.update_inference_component_runtime_config(
                InferenceComponentName=each, DesiredRuntimeConfig={"CopyCount": count}
            )

    def statuses() -> set[str]:
        found = sagemaker.list_inference_components(EndpointNameEquals=name)["InferenceComponents"]
        return {each["InferenceComponentStatus"] for each in found}

    ask_for(0)
    bare_cloud.advance(11 * A_MINUTE)
    assert instances(bare_cloud, name) == []
    order(bare_cloud, {"fault": "no_capacity", "count": 2})
    ask_for(1)
    with pytest.raises(StackFailedError, match=r"DELETE_FAILED.*Cannot update in-progress inference component"):
        delete(bare_cloud, name)
    bare_cloud.advance(5 * A_MINUTE)
    (instance,) = instances(bare_cloud, name)
    assert (instance["copies"], statuses()) == (2, {"InService"})
    delete(bare_cloud, name)


def instances(cloud: LocalCloud, endpoint: str) -> list[dict[str, Any]]:
    found = requests.get(f"{cloud.url}/_slipway/endpoint-instances", timeout=30).json()["instances"]
    return [each for each in found if each["endpoint"] == endpoint]


def test_another_instance_type_moves_the_components(bare_cloud: LocalCloud) -> None:
    name = "moved"
    deployed = DeployedComponent(bare_cloud, name)
    moved = deployed.resources | endpoint_resources(name, instance_type="ml.g5.12xlarge")
    update(bare_cloud, name, moved)
    assert [each["type"] for each in instances(bare_cloud, name)] == ["ml.g5.12xlarge"]
    assert "generated_text" in deployed.call()
    with pytest.raises(StackFailedError, match="Insufficient hardware resources"):
        update(bare_cloud, name, moved | endpoint_resources(name, instance_type="ml.g5.xlarge"))
    assert [each["type"] for each in instances(bare_cloud, name)] == ["ml.g5.12xlarge"]
    assert "generated_text" in deployed.call()
    delete(bare_cloud, name)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"ExecutionRoleArn": None}, "ExecutionRoleArn is required"),
        (
            {"ProductionVariants": {"ModelName": {"Fn::GetAtt": ["Model", "ModelName"]}}},
            "only supported for inference",
        ),
        ({"ProductionVariants": {"InitialInstanceCount": 3}}, "less than or equal to 2"),
        ({"ProductionVariants": {"InitialInstanceCount": 0}}, "greater than or equal to 1"),
    ],
)
def test_a_wrong_configuration_is_refused(bare_cloud: LocalCloud, change: dict[str, Any], message: str) -> None:
    resources = {**endpoint_resources("wrong"), **model_resources({})}
    properties = resources["Config"]["Properties"]
    properties["ProductionVariants"][0] |= change.get("ProductionVariants", {})
    if "ExecutionRoleArn" in change:
        del properties["ExecutionRoleArn"]
    with pytest.raises(StackFailedError, match=message):
        create(bare_cloud, "wrong", resources)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"RuntimeConfig": {"CopyCount": 0}}, "copy count an integer larger than 0"),
        ({"VariantName": "Another"}, "Could not find variant"),
        ({"EndpointName": "nobody"}, "Could not find endpoint"),
        ({"Specification": {"ModelName": "nobody"}}, "Could not find model"),
    ],
)
def test_a_wrong_component_is_refused(deployed: DeployedComponent, change: dict[str, Any], message: str) -> None:
    described = deployed.describe()
    request = {
        "InferenceComponentName": "wrong",
        "EndpointName": NAME,
        "VariantName": VARIANT,
        "Specification": described["Specification"],
        "RuntimeConfig": {"CopyCount": 1},
    }
    with pytest.raises(ClientError, match=message):
        deployed.sagemaker.create_inference_component(**request | change)


def test_a_container_that_does_not_start_fails_the_component_with_its_last_line(bare_cloud: LocalCloud) -> None:
    with pytest.raises(StackFailedError, match=r"did not pass the ping health check.*no model"):
        DeployedComponent(bare_cloud, "broken", {"HF_MODEL_ID": ""})
    with pytest.raises(ClientError, match="Could not find"):
        bare_cloud.client("sagemaker", region=REGION).describe_inference_component(InferenceComponentName="broken")


def test_a_component_logs_under_its_own_name(deployed: DeployedComponent) -> None:
    logs = deployed.cloud.client("logs", region=REGION)

    def lines() -> list[str] | None:
        found = logs.filter_log_events(logGroupName=f"/aws/sagemaker/InferenceComponents/{NAME}")["events"]
        return [each["message"] for each in found] or None

    assert any("model loaded" in line for line in wait_for(lines, "the container's log"))


def test_more_instances_at_least_are_started_at_once(bare_cloud: LocalCloud) -> None:
    name = "least"
    resources = endpoint_resources(name)
    create(bare_cloud, name, resources)
    assert len(instances(bare_cloud, name)) == 1
    update(bare_cloud, name, resources | endpoint_resources(name, least=2))
    assert len(instances(bare_cloud, name)) == 2
    bare_cloud.advance(11 * A_MINUTE)
    assert len(instances(bare_cloud, name)) == 2
    update(bare_cloud, name, endpoint_resources(name))
    bare_cloud.advance(11 * A_MINUTE)
    assert instances(bare_cloud, name) == []
    delete(bare_cloud, name)
