"""What API Gateway, Lambda and CloudFormation refuse on AWS is refused here too."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import requests
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from botocore.exceptions import WaiterError

from local_cloud.assembly import Stack
from local_cloud.cloud import LocalCloud, free_port
from local_cloud.deploy import DeployError, deploy

API = json.loads(Path(__file__).with_name("refusing_api.json").read_text())
REGION = "us-west-2"


@pytest.fixture(scope="module")
def cloud() -> Iterator[LocalCloud]:
    with LocalCloud(port=free_port()) as cloud:
        cloud.wait_until_ready()
        yield cloud


@pytest.fixture(scope="module")
def url(cloud: LocalCloud) -> str:
    """Where the routes of refusing_api.json begin."""
    assert create(cloud, "refusing", API) == []
    stack = cloud.client("cloudformation", region=REGION).describe_stacks(StackName="refusing")["Stacks"][0]
    return f"{cloud.url}/_aws/execute-api/{stack['Outputs'][0]['OutputValue']}/v1"


def create(cloud: LocalCloud, name: str, template: dict[str, Any]) -> list[str]:
    """Create a stack; the reasons of its failure, none when it succeeds."""
    cloudformation = cloud.client("cloudformation", region=REGION)
    cloudformation.create_stack(StackName=name, TemplateBody=json.dumps(template), Capabilities=["CAPABILITY_IAM"])
    try:
        waiter = cloudformation.get_waiter("stack_create_complete")
        waiter.wait(StackName=name, WaiterConfig={"Delay": 1, "MaxAttempts": 120})
    except WaiterError:
        events = cloudformation.describe_stack_events(StackName=name)["StackEvents"]
        return [event["ResourceStatusReason"] for event in events if event["ResourceStatus"] == "CREATE_FAILED"]
    return []


def signed(url: str, cloud: LocalCloud, *, service: str = "execute-api") -> requests.Response:
    key = Credentials(cloud.deployer.access_key_id, cloud.deployer.secret_access_key)
    request = AWSRequest("GET", url)
    SigV4Auth(key, service, REGION).add_auth(request)
    return requests.get(url, headers=dict(request.headers), timeout=30)


@pytest.mark.parametrize(
    ("route", "status"),
    [
        ("malformed", 502),
        ("crash", 502),
        ("throttled", 500),
        ("unpermitted", 500),
    ],
)
def test_a_function_without_a_usable_answer_is_an_error_of_the_gateway(url: str, route: str, status: int) -> None:
    response = requests.get(f"{url}/{route}", timeout=30)
    assert (response.status_code, response.json()) == (status, {"message": "Internal server error"})


def test_an_integration_is_given_up_at_its_time_limit(url: str) -> None:
    response = requests.get(f"{url}/slow", timeout=30)
    assert (response.status_code, response.json()) == (504, {"message": "Endpoint request timed out"})


def test_the_function_sees_the_request_id_of_the_response(url: str) -> None:
    response = requests.get(f"{url}/ok", timeout=30)
    assert response.text == response.headers["x-amzn-requestid"]


def test_a_signature_for_the_api_and_its_region_is_accepted(url: str, cloud: LocalCloud) -> None:
    assert signed(f"{url}/signed", cloud).status_code == 200


def test_a_signature_for_another_service_is_refused(url: str, cloud: LocalCloud) -> None:
    response = signed(f"{url}/signed", cloud, service="s3")
    assert response.status_code == 403
    assert response.headers["x-amzn-errortype"] == "InvalidSignatureException"


def test_access_logs_need_the_log_role_of_the_account(cloud: LocalCloud, stacks: dict[str, Stack]) -> None:
    with pytest.raises(DeployError, match="CloudWatch Logs role ARN must be set in account settings"):
        deploy(cloud, stacks["gpt2"])


def test_a_function_needs_a_role_that_lambda_may_assume(cloud: LocalCloud) -> None:
    template = json.loads(json.dumps(API))
    trust = template["Resources"]["Role"]["Properties"]["AssumeRolePolicyDocument"]["Statement"][0]
    trust["Principal"]["Service"] = "ec2.amazonaws.com"
    assert set(create(cloud, "untrusting", template)) == {
        "The role defined for the function cannot be assumed by Lambda."
    }


def test_a_function_needs_a_runtime_that_exists(cloud: LocalCloud) -> None:
    template = json.loads(json.dumps(API))
    template["Resources"]["Function"]["Properties"]["Runtime"] = "python9.9"
    assert "python9.9" in create(cloud, "unknown-runtime", template)[0]


def test_a_log_group_that_exists_is_not_taken_over(cloud: LocalCloud) -> None:
    cloud.client("logs", region=REGION).create_log_group(logGroupName="/known")
    template = {"Resources": {"Log": {"Type": "AWS::Logs::LogGroup", "Properties": {"LogGroupName": "/known"}}}}
    assert "already exists" in create(cloud, "taking-over", template)[0]
