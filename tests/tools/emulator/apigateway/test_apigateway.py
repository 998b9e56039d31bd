"""The local API Gateway refuses the same requests as AWS."""

import socket
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

import pytest
import requests
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from local_cloud.assembly import Stack
from local_cloud.cloud import LocalCloud, free_port
from local_cloud.deploy import DeployError, deploy
from support.stacks.small_stacks import REGION, Resources, StackFailedError, arn_of, create, function, resource, role

HANDLER = """
import threading
def handler(event, context):
    if event["path"] == "/malformed": return {"answer": 42}
    if event["path"] == "/crash": raise ValueError("boom")
    if event["path"] == "/slow": threading.Event().wait(1)
    return {"statusCode": 200, "body": event["requestContext"]["requestId"]}
"""
INVOCATIONS = "arn:aws:apigateway:${AWS::Region}:lambda:path/2015-03-31/functions/${%s.Arn}/invocations"


def method(resource_id: Any, function_id: str, authorization: str = "NONE", **integration: Any) -> dict[str, Any]:
    """GET on a resource of the API, answered by a function."""
    uri = {"Fn::Sub": INVOCATIONS % function_id}
    proxy = {"Type": "AWS_PROXY", "IntegrationHttpMethod": "POST", "Uri": uri} | integration
    named = {"RestApiId": {"Ref": "Api"}, "ResourceId": resource_id, "HttpMethod": "GET"}
    return resource("ApiGateway::Method", named | {"AuthorizationType": authorization, "Integration": proxy})


def permission(function_id: str, route: str) -> dict[str, Any]:
    source = {"Fn::Sub": f"arn:aws:execute-api:${{AWS::Region}}:${{AWS::AccountId}}:${{Api}}/v1/GET/{route}"}
    named = {"Action": "lambda:InvokeFunction", "FunctionName": {"Ref": function_id}}
    return resource("Lambda::Permission", named | {"Principal": "apigateway.amazonaws.com", "SourceArn": source})


def api() -> Resources:
    """A route for each case; the routes `throttled` and `unpermitted` have their own functions."""
    methods = {
        "malformed": ("Function", "NONE", {}),
        "crash": ("Function", "NONE", {}),
        "slow": ("Function", "NONE", {"TimeoutInMillis": 50}),
        "signed": ("Function", "AWS_IAM", {}),
        "ok": ("Function", "NONE", {}),
        "throttled": ("Throttled", "NONE", {}),
        "unpermitted": ("Unpermitted", "NONE", {}),
    }
    resources = {
        "Role": role([]),
        "Function": function(HANDLER),
        "Throttled": function(HANDLER),
        "Unpermitted": function(HANDLER),
        "Api": resource("ApiGateway::RestApi", {"Name": "refusals"}),
    }
    root = {"RestApiId": {"Ref": "Api"}, "ParentId": {"Fn::GetAtt": ["Api", "RootResourceId"]}}
    for name, (function_id, authorization, integration) in methods.items():
        resources[f"{name}Resource"] = resource("ApiGateway::Resource", root | {"PathPart": name})
        if name != "unpermitted":
            resources[f"{name}Permission"] = permission(function_id, name)
        resources[f"{name}Method"] = method({"Ref": f"{name}Resource"}, function_id, authorization, **integration)
    made = [f"{name}Method" for name in methods]
    resources["Deployment"] = resource("ApiGateway::Deployment", {"RestApiId": {"Ref": "Api"}}, DependsOn=made)
    stage = {"RestApiId": {"Ref": "Api"}, "StageName": "v1", "DeploymentId": {"Ref": "Deployment"}}
    return resources | {"Stage": resource("ApiGateway::Stage", stage)}


@pytest.fixture(scope="module")
def url(bare_cloud: LocalCloud) -> str:
    """The URL before the routes."""
    ids = create(bare_cloud, "refusing", api())
    lambda_ = bare_cloud.client("lambda", region=REGION)
    lambda_.put_function_concurrency(FunctionName=ids["Throttled"], ReservedConcurrentExecutions=0)
    return f"{bare_cloud.url}/_aws/execute-api/{ids['Api']}/v1"


def signed(url: str, cloud: LocalCloud, *, service: str = "execute-api") -> requests.Response:
    key = Credentials(cloud.deployer.access_key_id, cloud.deployer.secret_access_key)
    request = AWSRequest("GET", url)
    SigV4Auth(key, service, REGION).add_auth(request)
    return requests.get(url, headers=dict(request.headers), timeout=30)


@pytest.mark.parametrize(
    ("route", "status"),
    [("malformed", 502), ("crash", 502), ("throttled", 500), ("unpermitted", 500)],
)
def test_a_function_without_a_usable_answer_is_an_error_of_the_gateway(url: str, route: str, status: int) -> None:
    response = requests.get(f"{url}/{route}", timeout=30)
    assert (response.status_code, response.json()) == (status, {"message": "Internal server error"})


@pytest.mark.parametrize(("route", "counted"), [("ok", {"Count"}), ("none", {"4XXError"}), ("crash", {"5XXError"})])
def test_answers_are_counted_by_their_kind(url: str, bare_cloud: LocalCloud, route: str, counted: set[str]) -> None:
    before = sums(bare_cloud)
    requests.get(f"{url}/{route}", timeout=30)
    after = sums(bare_cloud)
    assert {name for name in after if after[name] > before[name]} == counted | {"Count"}


def sums(cloud: LocalCloud) -> dict[str, float]:
    """The metrics of the API's stage so far."""
    dimensions = [{"Name": "ApiName", "Value": "refusals"}, {"Name": "Stage", "Value": "v1"}]
    now = datetime.now(UTC)
    # Tests of other modules put the cloud's clock forward.
    times = {"StartTime": now - timedelta(days=1), "EndTime": now + timedelta(days=1_000), "Period": 86_400}
    found = {}
    for name in ("Count", "4XXError", "5XXError"):
        points = cloud.client("cloudwatch", region=REGION).get_metric_statistics(
            Namespace="AWS/ApiGateway", MetricName=name, Dimensions=dimensions, Statistics=["Sum"], **times
        )["Datapoints"]
        found[name] = sum(point["Sum"] for point in points)
    return found


def test_an_integration_is_given_up_at_its_time_limit(url: str) -> None:
    response = requests.get(f"{url}/slow", timeout=30)
    assert (response.status_code, response.json()) == (504, {"message": "Endpoint request timed out"})


def test_a_body_over_10_mb_is_refused(url: str) -> None:
    response = requests.post(f"{url}/ok", data=b"x" * (10 * 1024 * 1024 + 1), timeout=30)
    assert (response.status_code, response.json()) == (413, {"message": "Request Too Long"})


def test_the_function_sees_the_request_id_of_the_response(url: str) -> None:
    response = requests.get(f"{url}/ok", timeout=30)
    assert response.text == response.headers["x-amzn-requestid"]


@pytest.mark.parametrize(
    ("route", "status"), [("ok/", 200), ("ok//", 200), ("/ok", 200), ("ok//more", 403), ("ok/more", 403)]
)
def test_slashes_around_a_route_do_not_matter(url: str, route: str, status: int) -> None:
    """Source: powertools-lambda-python #1552 and LocalStack's recordings of AWS."""
    assert requests.get(f"{url}/{route}", timeout=30).status_code == status


def test_a_body_that_is_not_utf_8_is_refused(url: str) -> None:
    response = requests.get(f"{url}/ok", data=b"\xff", timeout=30)
    assert (response.status_code, response.json()) == (400, {"message": "Invalid request body"})


def test_an_upgrade_to_http_2_is_ignored(url: str) -> None:
    headers = {"connection": "Upgrade, HTTP2-Settings", "upgrade": "h2c", "http2-settings": "AAMAAABkAAQAAP__"}
    assert requests.get(f"{url}/ok", headers=headers, timeout=30).status_code == 200


def test_a_connection_ends_with_its_client(bare_cloud: LocalCloud) -> None:
    where = urlsplit(bare_cloud.url)
    with socket.create_connection((where.hostname, where.port), timeout=30) as connection:
        connection.sendall(b"GET /_ministack/health HTTP/1.1\r\nhost: x\r\n\r\n")
        assert connection.recv(4096).startswith(b"HTTP/1.1 200")
        connection.shutdown(socket.SHUT_WR)
        while connection.recv(4096):
            pass


def test_a_signature_for_the_api_and_its_region_is_accepted(url: str, bare_cloud: LocalCloud) -> None:
    assert signed(f"{url}/signed", bare_cloud).status_code == 200


def test_a_signature_for_another_service_is_refused(url: str, bare_cloud: LocalCloud) -> None:
    response = signed(f"{url}/signed", bare_cloud, service="s3")
    assert response.status_code == 403
    assert response.headers["x-amzn-errortype"] == "InvalidSignatureException"


@pytest.fixture(scope="module")
def new_cloud() -> Iterator[LocalCloud]:
    """A cloud whose account has no role for the logs of API Gateway."""
    with LocalCloud(port=free_port()) as cloud:
        cloud.wait_until_ready()
        yield cloud


def test_access_logs_need_the_log_role_of_the_account_before_an_endpoint_starts(
    new_cloud: LocalCloud, stacks: dict[str, Stack]
) -> None:
    with pytest.raises(DeployError, match="CloudWatch Logs role ARN must be set in account settings"):
        deploy(new_cloud, stacks["gpt2"])
    cloudformation = new_cloud.client("cloudformation", region=stacks["gpt2"].region)
    pages = cloudformation.get_paginator("describe_stack_events").paginate(StackName="gpt2")
    begun = set(pages.search("StackEvents[?ResourceStatus=='CREATE_IN_PROGRESS'].ResourceType"))
    assert "AWS::ApiGateway::Stage" in begun
    assert "AWS::SageMaker::Endpoint" not in begun


def test_the_log_role_must_be_usable_by_the_gateway(new_cloud: LocalCloud) -> None:
    account = resource("ApiGateway::Account", {"CloudWatchRoleArn": arn_of("Role")})
    with pytest.raises(StackFailedError, match="The role ARN does not have required permissions"):
        create(new_cloud, "powerless", {"Role": role([]), "Account": account})


def test_a_variable_of_an_access_log_that_would_stay_empty_is_named(new_cloud: LocalCloud) -> None:
    resources = api()
    setting = {"DestinationArn": "arn:aws:logs:::log-group:/x", "Format": "$context.awsEndpointRequestId"}
    resources["Stage"]["Properties"]["AccessLogSetting"] = setting
    with pytest.raises(StackFailedError, match="awsEndpointRequestId"):
        create(new_cloud, "logging", resources)


@pytest.mark.parametrize(
    "properties", [{"SecurityPolicy": "SecurityPolicy_TLS13_1_3_2025_09"}, {"EndpointAccessMode": "STRICT"}]
)
def test_a_modern_security_policy_and_an_access_mode_need_each_other(
    bare_cloud: LocalCloud, properties: dict[str, str]
) -> None:
    halves = {"Api": resource("ApiGateway::RestApi", {"Name": "halves"} | properties)}
    with pytest.raises(StackFailedError, match="Endpoint access mode is"):
        create(bare_cloud, "halves", halves)
