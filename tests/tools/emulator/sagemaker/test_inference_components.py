"""Inference components: copies on instances, calls by name, to zero and back, refusals, failures."""

import json
from typing import Any

import pytest
from botocore.exceptions import ClientError

from local_cloud.cloud import LocalCloud
from support.stacks.component_endpoints import DeployedComponent, metric
from support.stacks.small_stacks import REGION, statement

NO_CAPACITY = "Inference Component has no capacity"


@pytest.fixture(scope="module")
def component(bare_cloud: LocalCloud) -> DeployedComponent:
    return DeployedComponent(bare_cloud, "component")


def test_a_component_answers_under_its_name_only(component: DeployedComponent) -> None:
    assert "generated_text" in component.call()
    for request, message in (
        ({"InferenceComponentName": "another"}, "another .*not found"),
        ({"EndpointName": "another"}, "another .*not found"),
    ):
        with pytest.raises(ClientError, match=message):
            component.call(**request)
    with pytest.raises(ClientError, match="Component Name header is required"):
        component.runtime.invoke_endpoint(EndpointName=component.name, Body=b"{}")
    with pytest.raises(ClientError, match="does not support this inference type"):
        component.runtime.invoke_endpoint_async(EndpointName=component.name, InputLocation="s3://bucket/key")


def test_a_component_streams(component: DeployedComponent) -> None:
    body = {"inputs": "A list is", "parameters": {"max_new_tokens": 4}, "stream": True}
    answer = component.runtime.invoke_endpoint_with_response_stream(
        EndpointName=component.name, InferenceComponentName=component.name, Body=json.dumps(body).encode()
    )
    text = b"".join(each["PayloadPart"]["Bytes"] for each in answer["Body"]).decode()
    assert len(text.strip().split("\n")) == 4


def test_at_zero_a_call_is_refused_and_counted_and_a_copy_on_request_answers_again(
    component: DeployedComponent,
) -> None:
    component.scale_to(0)
    with pytest.raises(ClientError, match=NO_CAPACITY):
        component.call()
    assert metric(component.cloud, component.name, "NoCapacityInvocationFailures") == 1
    component.scale_to(1)
    assert "generated_text" in component.call()
    described = component.describe()
    assert described["RuntimeConfig"] == {"DesiredCopyCount": 1, "CurrentCopyCount": 1}
    assert described["InferenceComponentStatus"] == "InService"


def test_a_call_needs_the_permission_on_the_endpoint_and_on_the_component(component: DeployedComponent) -> None:
    arn = f"arn:aws:sagemaker:{REGION}:111122223333"
    endpoint, mine = f"{arn}:endpoint/{component.name}", f"{arn}:inference-component/{component.name}"

    def outcome(*resources: str) -> str:
        caller = component.cloud.create_user("caller", [statement("sagemaker:InvokeEndpoint", list(resources))])
        runtime = component.cloud.client("sagemaker-runtime", region=REGION, credentials=caller)
        names: dict[str, Any] = {"EndpointName": component.name, "InferenceComponentName": component.name}
        try:
            runtime.invoke_endpoint(**names, Body=b'{"inputs": "A"}')
        except ClientError as error:
            return str(error.response["Error"]["Code"])
        return "answered"

    denied = "AccessDeniedException"
    assert [outcome(endpoint), outcome(mine), outcome(endpoint, mine)] == [denied, denied, "answered"]


def test_a_copy_is_asked_for_with_a_permission_on_the_component(component: DeployedComponent) -> None:
    mine = f"arn:aws:sagemaker:{REGION}:111122223333:inference-component/{component.name}"
    actions = ["sagemaker:DescribeInferenceComponent", "sagemaker:UpdateInferenceComponentRuntimeConfig"]
    request = {"InferenceComponentName": component.name, "DesiredRuntimeConfig": {"CopyCount": 1}}
    for statements, may in (([statement(actions, mine)], True), ([statement(actions, f"{mine}-other")], False)):
        caller = component.cloud.create_user("asker", statements)
        sagemaker = component.cloud.client("sagemaker", region=REGION, credentials=caller)
        if may:
            sagemaker.describe_inference_component(InferenceComponentName=component.name)
            sagemaker.update_inference_component_runtime_config(**request)
            component.wait_until_settled()
        else:
            with pytest.raises(ClientError, match="AccessDenied"):
                sagemaker.update_inference_component_runtime_config(**request)
