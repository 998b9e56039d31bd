"""A deployed model that begins to sleep, is updated while it sleeps, and stays awake again: one stack, in order."""

from typing import Any

import pytest

from local_cloud.api_client import ApiClient, connect
from local_cloud.assembly import Stack
from local_cloud.checks import mark_as_linted
from local_cloud.cloud import LocalCloud
from local_cloud.deploy import deploy
from slipway.changes import classify
from support.command import Command
from support.deployments.good_one import Changes
from support.patience import wait_for
from support.stacks.deployed_stacks import resource_ids, update
from support.templates.edits import stack_of

NAME = "drowsy"
STEPS: dict[str, Changes] = {
    "awake": {},
    "sleepy": {"hosting": {"idle": "zero"}},
    "longer": {"hosting": {"idle": "zero", "startup_timeout_in_seconds": 1200}},
    "larger": {"hosting": {"idle": "zero", "instance_type": "ml.g5.2xlarge"}},
    "hours": {
        "hosting": {"idle": {"start": "08:00", "end": "18:00", "time_zone": "UTC"}, "instance_type": "ml.g5.2xlarge"}
    },
}
PROMPT = {"messages": [{"role": "user", "content": "Hello"}], "max_tokens": 4}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Stack]:
    made = {name: stack_of(NAME, changes, tmp_path_factory.mktemp("step")) for name, changes in STEPS.items()}
    for each in made.values():
        mark_as_linted(each)
    return made


@pytest.fixture(scope="module")
def api(cloud: LocalCloud, made: dict[str, Stack]) -> ApiClient:
    return connect(cloud, deploy(cloud, made["awake"]), made["awake"].region)


def endpoints(cloud: LocalCloud, stack: Stack) -> list[str]:
    pages = cloud.client("sagemaker", region=stack.region).list_endpoints(NameContains=f"{NAME}-")["Endpoints"]
    return [each["EndpointName"] for each in pages]


def component(cloud: LocalCloud, stack: Stack) -> dict[str, Any]:
    sagemaker = cloud.client("sagemaker", region=stack.region)
    (name,) = (each["InferenceComponentName"] for each in sagemaker.list_inference_components()["InferenceComponents"])
    found: dict[str, Any] = sagemaker.describe_inference_component(InferenceComponentName=name)
    return found


def kinds(before: Stack, after: Stack) -> set[str]:
    return {each.kind for each in classify(before.template, after.template)}


def test_a_model_begins_to_sleep_on_a_new_endpoint_and_the_old_one_goes(
    cloud: LocalCloud, made: dict[str, Stack], api: ApiClient
) -> None:
    (old,) = endpoints(cloud, made["awake"])
    assert "interruption" in kinds(made["awake"], made["sleepy"])
    update(cloud, made["sleepy"])
    assert endpoints(cloud, made["awake"]) == [f"{old}-ic"]
    assert component(cloud, made["sleepy"])["RuntimeConfig"]["CurrentCopyCount"] == 1
    assert api.call("POST", "/generate", PROMPT)[0] == 200


def test_an_update_of_a_sleeping_model_wakes_it_as_diff_says(
    cloud: LocalCloud, made: dict[str, Stack], api: ApiClient
) -> None:
    sagemaker = cloud.client("sagemaker", region=made["sleepy"].region)
    name = component(cloud, made["sleepy"])["InferenceComponentName"]
    sagemaker.update_inference_component_runtime_config(
        InferenceComponentName=name, DesiredRuntimeConfig={"CopyCount": 0}
    )
    wait_for(
        lambda: component(cloud, made["sleepy"])["RuntimeConfig"]["CurrentCopyCount"] == 0 or None, "a sleeping model"
    )
    (told,) = (
        each for each in classify(made["sleepy"].template, made["longer"].template) if each.kind == "new-instances"
    )
    assert "a model that sleeps wakes" in told.sentence
    update(cloud, made["longer"])
    assert component(cloud, made["longer"])["RuntimeConfig"]["CurrentCopyCount"] == 1
    assert api.call("POST", "/generate", PROMPT)[0] == 200


def test_another_instance_type_and_hours_keep_the_endpoint(
    cloud: LocalCloud, made: dict[str, Stack], api: ApiClient
) -> None:
    kept = endpoints(cloud, made["longer"])
    update(cloud, made["larger"])
    update(cloud, made["hours"])
    assert endpoints(cloud, made["hours"]) == kept
    (target,) = resource_ids(cloud, made["hours"], "AWS::ApplicationAutoScaling::ScalableTarget")
    assert "inference-component/" in target
    assert api.call("POST", "/generate", PROMPT)[0] == 200


def test_a_model_stays_awake_again_on_an_endpoint_without_components(
    cloud: LocalCloud, made: dict[str, Stack], api: ApiClient
) -> None:
    (kept,) = endpoints(cloud, made["hours"])
    update(cloud, made["awake"])
    assert endpoints(cloud, made["awake"]) == [kept.removesuffix("-ic")]
    sagemaker = cloud.client("sagemaker", region=made["awake"].region)
    assert sagemaker.list_inference_components()["InferenceComponents"] == []
    assert api.call("POST", "/generate", PROMPT)[0] == 200


def test_what_purge_removes_lets_the_model_sleep_again(
    cloud: LocalCloud, made: dict[str, Stack], api: ApiClient, slipway: Command
) -> None:
    logs = cloud.client("logs", region=made["awake"].region)
    assert slipway("purge", NAME, "--yes").status == 0
    left = logs.describe_log_groups(logGroupNamePrefix="/aws/sagemaker/InferenceComponents/")["logGroups"]
    assert [each["logGroupName"] for each in left if f"/{NAME}-" in each["logGroupName"]] == []
    kept = logs.describe_log_groups(logGroupNamePrefix=f"/aws/sagemaker/Endpoints/{NAME}-")["logGroups"]
    assert len(kept) == 1, "the log group of the endpoint that runs"
    update(cloud, made["sleepy"])
    assert api.call("POST", "/generate", PROMPT)[0] == 200
