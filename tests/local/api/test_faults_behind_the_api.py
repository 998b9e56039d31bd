"""The API's answers while a part behind it is gone, broken, overloaded or too slow."""

from dataclasses import replace
from pathlib import Path

import pytest

from local_cloud.assembly import Stack
from local_cloud.cloud import LocalCloud
from support.patience import wait_for
from support.stacks.deployed_stacks import Change, assert_refused, containers, deployed, edited
from support.templates.template_parts import Template, functions, properties, resources

BODY = {"inputs": "A list is", "parameters": {"max_new_tokens": 3}}


def without_permission(template: Template) -> None:
    for logical_id, resource in list(template["Resources"].items()):
        if resource["Type"] == "AWS::Lambda::Permission":
            del template["Resources"][logical_id]


def without_handler(template: Template) -> None:
    for function in resources(template, "Lambda::Function"):
        function["Properties"]["Handler"] = "inference_api.handlers.nothing.handler"


@pytest.mark.parametrize(
    ("change", "name"),
    [(without_permission, "unpermitted"), (without_handler, "handlerless")],
    ids=["unpermitted", "handlerless"],
)
def test_a_function_that_cannot_answer_is_a_503_of_the_gateway(
    cloud: LocalCloud, stacks: dict[str, Stack], tmp_path: Path, change: Change, name: str
) -> None:
    client = deployed(cloud, edited(stacks["gpt2"], tmp_path, change, name))
    assert_refused(client.call("POST", "/generate", BODY), 503, "service_unavailable")
    assert_refused(client.call("GET", "/endpoint"), 503, "service_unavailable")


def test_a_throttled_function_is_a_503_of_the_gateway(cloud: LocalCloud, stacks: dict[str, Stack]) -> None:
    client = deployed(cloud, replace(stacks["gpt2"], name="crowded"))
    lambda_ = cloud.client("lambda", region=client.region)
    pages = lambda_.get_paginator("list_functions").paginate().search("Functions[].FunctionName")
    for name in [each for each in pages if each.startswith("crowded-")]:
        lambda_.put_function_concurrency(FunctionName=name, ReservedConcurrentExecutions=0)
    assert_refused(client.call("POST", "/generate", BODY), 503, "service_unavailable")
    assert_refused(client.call("GET", "/endpoint"), 503, "service_unavailable")


def test_an_endpoint_that_is_gone_is_like_one_that_is_not_there_yet(
    cloud: LocalCloud, stacks: dict[str, Stack]
) -> None:
    client = deployed(cloud, replace(stacks["gpt2"], name="bereft"))
    sagemaker = cloud.client("sagemaker", region=client.region)
    (name,) = (
        each["EndpointName"]
        for each in sagemaker.list_endpoints()["Endpoints"]
        if each["EndpointName"].startswith("bereft-")
    )
    sagemaker.delete_endpoint(EndpointName=name)
    sagemaker.get_waiter("endpoint_deleted").wait(EndpointName=name, WaiterConfig={"Delay": 1})
    assert_refused(client.call("POST", "/generate", BODY), 503, "endpoint_not_ready")
    assert_refused(client.call("POST", "/jobs", BODY), 503, "endpoint_not_ready")
    assert client.call("GET", "/endpoint")[2]["status"] == "Creating"


def test_a_function_that_outlasts_the_gateway_is_a_504(
    cloud: LocalCloud, stacks: dict[str, Stack], tmp_path: Path
) -> None:
    def hurry(template: Template) -> None:
        for method in resources(template, "ApiGateway::Method"):
            method["Properties"]["Integration"]["TimeoutInMillis"] = 1000

    client = deployed(cloud, edited(stacks["slow"], tmp_path, hurry, "hasty"))
    assert_refused(client.call("POST", "/generate", BODY), 504, "gateway_timeout", "fewer tokens")


@pytest.mark.parametrize(
    ("name", "variable", "status"),
    [("slow", "MAX_CONCURRENT_REQUESTS", 429), ("qwen3-4b", "SERVING_JOB_QUEUE_SIZE", 503)],
)
def test_an_overloaded_model_is_answered_with_the_containers_status(
    cloud: LocalCloud, stacks: dict[str, Stack], tmp_path: Path, name: str, variable: str, status: int
) -> None:
    def take_one_at_a_time(template: Template) -> None:
        of_container = properties(template, "SageMaker::Model")["PrimaryContainer"]["Environment"]
        of_container |= {variable: "1", "SLIPWAY_LOCAL_SECONDS_PER_TOKEN": "1"}

    client = deployed(cloud, edited(stacks[name], tmp_path, take_one_at_a_time, f"single-{name}"))
    job = {**BODY, "parameters": {"max_new_tokens": 50}}  # as many seconds; nobody waits for its end
    assert client.call("POST", "/jobs", job)[0] == 202
    wait_for(lambda: containers(cloud, f"single-{name}")[0]["outstanding"] or None, "the job's request")
    assert_refused(client.call("POST", "/generate", BODY), status, "model_busy", "too many requests")


def test_a_model_that_takes_too_long_is_a_504(cloud: LocalCloud, stacks: dict[str, Stack], tmp_path: Path) -> None:
    def wait_two_seconds(template: Template) -> None:
        for function in functions(template).values():
            function["Environment"]["Variables"]["LONGEST_WAIT_IN_SECONDS"] = "2"

    client = deployed(cloud, edited(stacks["slow"], tmp_path, wait_two_seconds, "hurried"))
    answer = client.call("POST", "/generate", {**BODY, "parameters": {"max_new_tokens": 40}})
    assert_refused(answer, 504, "model_timeout", "fewer tokens")


def test_requests_beyond_the_throttle_are_refused_before_they_cost_anything(
    cloud: LocalCloud, stacks: dict[str, Stack], tmp_path: Path
) -> None:
    def let_only_a_burst_through(template: Template) -> None:
        for setting in properties(template, "ApiGateway::Stage")["MethodSettings"]:
            setting |= {"ThrottlingRateLimit": 0.01, "ThrottlingBurstLimit": 2}

    client = deployed(cloud, edited(stacks["open"], tmp_path, let_only_a_burst_through, "flooded"))
    answers = [client.call("POST", "/generate", {}) for _ in range(3)]
    assert [answer[0] for answer in answers[:2]] == [400, 400]
    assert_refused(answers[2], 429, "throttled")


@pytest.mark.parametrize(("name", "said"), [("open", "GET /endpoint."), ("with-api-key", "x-api-key")])
def test_an_unknown_route_is_not_found_whatever_the_request_carries(
    cloud: LocalCloud, stacks: dict[str, Stack], name: str, said: str
) -> None:
    client = replace(deployed(cloud, replace(stacks[name], name=f"lost-{name}")), credentials=None)
    bearer, form = {"authorization": "Bearer " + "x" * 40}, {"content-type": "multipart/form-data; boundary=x"}
    calls = ("GET", "/"), ("GET", "/nowhere"), ("POST", "/embeddings"), ("DELETE", "/jobs"), ("PUT", "/models/a/b")
    for headers in ({}, bearer, bearer | {"authorization": "Basic eDp5"}, bearer | form):
        for method, path in calls:
            assert_refused(client.send(method, path, b"{", headers), 404, "no_such_route", said)
