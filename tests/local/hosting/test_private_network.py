"""A deployment in a VPC without internet: everything works through the VPC's endpoints, and nothing without them."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from local_cloud.api_client import ApiClient
from local_cloud.assembly import Stack
from local_cloud.cloud import LocalCloud
from local_cloud.deploy import DeployError, deploy
from support.stacks.deployed_stacks import assert_refused, deployed, edited, ended, ended_batch, resource_ids
from support.templates.template_parts import Template, properties

NAME, MODEL = "private-network", "Qwen/Qwen3-0.6B"
CHAT: dict[str, Any] = {"messages": [{"role": "user", "content": "What is a list?"}], "max_tokens": 20}
AS_FORM = {"content-type": "multipart/form-data; boundary=line"}


@pytest.fixture(scope="module")
def stack(cloud: LocalCloud, stacks: dict[str, Stack]) -> Stack:
    s3 = cloud.client("s3", region=stacks[NAME].region)
    s3.create_bucket(Bucket="example-weights")
    s3.put_object(Bucket="example-weights", Key="models/qwen3-0.6b/config.json", Body=b"{}")
    return stacks[NAME]


@pytest.fixture(scope="module")
def api(cloud: LocalCloud, stack: Stack) -> ApiClient:
    return deployed(cloud, stack)


def test_a_chat_is_answered_whole_and_as_a_stream(api: ApiClient) -> None:
    status, _, answer = api.call("POST", "/chat/completions", CHAT)
    assert (status, answer["usage"]["completion_tokens"]) == (200, 20)
    status, _, events = api.call("POST", "/chat/completions", CHAT | {"stream": True})
    assert status == 200
    assert events.rstrip().endswith("data: [DONE]")


def test_a_job_is_worked_on(api: ApiClient) -> None:
    status, _, job = api.call("POST", "/jobs", CHAT)
    assert status == 202
    assert ended(api, job)["status"] == "succeeded"


def test_a_batch_is_read_worked_on_and_written(api: ApiClient) -> None:
    line = {"custom_id": "1", "method": "POST", "url": "/v1/chat/completions", "body": CHAT | {"model": MODEL}}
    parts = (('name="purpose"', "batch"), ('name="file"; filename="in.jsonl"', json.dumps(line)))
    form = "".join(f"--line\r\nContent-Disposition: form-data; {name}\r\n\r\n{text}\r\n" for name, text in parts)
    _, _, file = api.send("POST", "/files", f"{form}--line--\r\n".encode(), AS_FORM)
    wanted = {"input_file_id": file["id"], "endpoint": line["url"], "completion_window": "24h"}
    _, _, batch = api.call("POST", "/batches", wanted)
    completed = ended_batch(api, batch)
    _, _, output = api.send("GET", f"/files/{completed['output_file_id']}/content", None, {})
    assert json.loads(output)["response"]["body"]["usage"]["completion_tokens"] == 20


def test_functions_reach_no_service_whose_endpoint_is_gone(cloud: LocalCloud, stack: Stack) -> None:
    cut_off = replace(stack, name="cut-off")
    api, ec2 = deployed(cloud, cut_off), cloud.client("ec2", region=stack.region)
    assert api.call("POST", "/chat/completions", CHAT)[0] == 200
    ids = resource_ids(cloud, cut_off, "AWS::EC2::VPCEndpoint")
    by_service = {
        each["ServiceName"].split(".", 3)[-1]: each["VpcEndpointId"]
        for each in ec2.describe_vpc_endpoints(VpcEndpointIds=ids)["VpcEndpoints"]
    }
    ec2.delete_vpc_endpoints(VpcEndpointIds=[by_service["sagemaker.runtime"]])
    assert_refused(api.call("POST", "/chat/completions", CHAT), 503, "endpoint_unreachable")
    ec2.delete_vpc_endpoints(VpcEndpointIds=[by_service["dynamodb"]])
    assert_refused(api.call("POST", "/jobs", CHAT), 503, "overloaded")


def without(stack: Stack, folder: Path, *services: str) -> Stack:
    """Return the stack without the endpoints of some services."""

    def remove(template: Template) -> None:
        gone = [
            name
            for name, each in template["Resources"].items()
            if each["Type"] == "AWS::EC2::VPCEndpoint"
            and json.dumps(each["Properties"]["ServiceName"]).endswith(
                tuple(f'.{service}"]]}}' for service in services)
            )
        ]
        assert len(gone) == len(services)
        for name in gone:
            del template["Resources"][name]
        for each in template["Resources"].values():
            if "DependsOn" in each:
                each["DependsOn"] = [name for name in each["DependsOn"] if name not in gone]

    return edited(stack, folder, remove, "planted")


def test_weights_are_not_downloaded_without_an_endpoint_of_s3(cloud: LocalCloud, stack: Stack, tmp_path: Path) -> None:
    with pytest.raises(DeployError, match="ensure that an S3 VPC endpoint exists in route table or NAT gateway"):
        deploy(cloud, without(stack, tmp_path, "s3"))


def test_a_container_that_loads_from_the_hub_says_why_it_ends(cloud: LocalCloud, stack: Stack, tmp_path: Path) -> None:
    def load_from_hub(template: Template) -> None:
        model = properties(template, "SageMaker::Model")
        model["EnableNetworkIsolation"] = False
        container = model["PrimaryContainer"]
        del container["ModelDataSource"]
        container["Environment"]["HF_MODEL_ID"] = MODEL

    with pytest.raises(DeployError, match=f"couldn't connect to 'https://huggingface.co' to load {MODEL}"):
        deploy(cloud, edited(stack, tmp_path, load_from_hub, "planted-hub"))


def test_a_function_whose_role_may_make_no_interfaces_is_refused(
    cloud: LocalCloud, stack: Stack, tmp_path: Path
) -> None:
    def forbid(template: Template) -> None:
        for name, each in template["Resources"].items():
            if each["Type"] == "AWS::IAM::Policy" and name.startswith("ApiRouteRoleNetwork"):
                each["Properties"]["PolicyDocument"]["Statement"][0]["Action"] = ["ec2:DescribeSubnets"]

    with pytest.raises(DeployError, match="does not have permissions to call CreateNetworkInterface on EC2"):
        deploy(cloud, edited(stack, tmp_path, forbid, "planted-role"))
