"""A deployed endpoint: failed starts, restarts, updates, rollbacks, scaling, deletion."""

import json
import time
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest

from local_cloud.api_client import connect
from local_cloud.assembly import Stack
from local_cloud.cloud import LocalCloud
from local_cloud.deploy import DeployError, deploy, destroy
from support.command import Command
from support.patience import wait_for
from support.stacks.callers import calling
from support.stacks.deployed_stacks import Apis, assert_refused, containers, deployed, edited, resource_ids, update
from support.templates.template_parts import Template, functions, policies, properties, variant

BODY = {"inputs": "A list is", "parameters": {"max_new_tokens": 3}}


def environment(template: Template) -> dict[str, str]:
    container: dict[str, str] = properties(template, "SageMaker::Model")["PrimaryContainer"]["Environment"]
    return container


def refuse_to_start(template: Template) -> None:
    environment(template).update(MAX_INPUT_LENGTH="2048", MAX_TOTAL_TOKENS="1024")


def test_a_model_that_cannot_start_fails_the_deploy_with_its_own_words_and_keeps_its_log(
    cloud: LocalCloud, stacks: dict[str, Stack], tmp_path: Path, slipway: Command
) -> None:
    doomed = edited(stacks["lively"], tmp_path, refuse_to_start, "doomed")
    with pytest.raises(DeployError) as caught:
        deploy(cloud, doomed)
    assert caught.value.status == "ROLLBACK_COMPLETE"
    assert "did not pass the ping health check" in caught.value.reasons[0]
    assert "max_input" in caught.value.reasons[0]
    logs = cloud.client("logs", region=doomed.region)
    (group,) = logs.describe_log_groups(logGroupNamePrefix="/aws/sagemaker/Endpoints/doomed-")["logGroups"]
    events = logs.filter_log_events(logGroupName=group["logGroupName"])["events"]
    assert any("max_input" in event["message"] for event in events)
    assert containers(cloud, "doomed") == []

    failure = json.loads(slipway("status", "doomed", "--json").stdout)["failure"]
    assert "did not pass the ping health check" in failure["reason"]
    assert failure["cause"].startswith("the container ended or was too slow")
    assert any("max_input" in line for line in failure["lines"])
    verified = slipway("verify", "doomed")
    assert verified.status == 1
    assert "FAILED  stack           ROLLBACK_COMPLETE: " in verified.stdout
    assert "POST /generate" not in verified.stdout
    assert slipway("call", "doomed", "hello").stderr.startswith("doomed has no API (ROLLBACK_COMPLETE)")


def test_a_model_that_starts_too_slowly_fails_the_deploy_within_its_timeout(
    cloud: LocalCloud, stacks: dict[str, Stack], tmp_path: Path
) -> None:
    def start_slowly(template: Template) -> None:
        environment(template)["SLIPWAY_LOCAL_STARTUP_SECONDS"] = "601"
        variant(template)["ContainerStartupHealthCheckTimeoutInSeconds"] = 600

    with ThreadPoolExecutor(1) as executor:
        deploying = executor.submit(deploy, cloud, edited(stacks["lively"], tmp_path, start_slowly, "sleepy"))
        wait_for(lambda: containers(cloud, "sleepy") or None, "the container")
        cloud.advance(500)
        assert len(containers(cloud, "sleepy")) == 1
        cloud.advance(100)
        with pytest.raises(DeployError, match="did not pass the ping health check"):
            deploying.result()


def test_a_model_that_starts_slowly_is_waited_for_and_the_api_says_so(
    cloud: LocalCloud, stacks: dict[str, Stack], tmp_path: Path
) -> None:
    def start_slowly(template: Template) -> None:
        environment(template)["SLIPWAY_LOCAL_STARTUP_SECONDS"] = "500"

    stack = edited(stacks["small-limits"], tmp_path, start_slowly, "drowsy")
    with ThreadPoolExecutor(1) as executor:
        deploying = executor.submit(deployed, cloud, stack)
        wait_for(lambda: containers(cloud, "drowsy") or None, "the container")
        (api_id,) = resource_ids(cloud, stack, "AWS::ApiGateway::RestApi")
        api = connect(cloud, {"ApiUrl": f"{cloud.url}/_aws/execute-api/{api_id}/v1/"}, stack.region)
        assert api.call("GET", "/endpoint")[2]["status"] == "Creating"
        for route in ("/generate", "/jobs"):
            assert_refused(api.call("POST", route, BODY), 503, "endpoint_not_ready")
        (bucket,) = resource_ids(cloud, stack, "AWS::S3::Bucket")
        assert "Contents" not in cloud.client("s3", region=stack.region).list_objects_v2(Bucket=bucket)
        cloud.advance(500)
        deploying.result()
    assert api.call("POST", "/generate", BODY)[0] == 200
    assert api.call("POST", "/jobs?wait=56", BODY)[0] == 200  # four seconds less than api.timeout_in_seconds
    assert_refused(api.call("POST", "/jobs?wait=57", BODY), 400, "invalid_parameter", "from 0 to 56")
    assert api.call("GET", "/endpoint")[2]["status"] == "InService"


def test_a_model_that_dies_between_requests_is_back_at_once(apis: Apis, cloud: LocalCloud) -> None:
    client = apis("lively")
    assert client.call("POST", "/generate", BODY)[0] == 200
    (before,) = containers(cloud, "lively")
    process = psutil.Process(before["pid"])
    process.kill()
    process.wait(60)  # until then it may accept a request and lose it when it dies
    statuses = [client.call("POST", "/generate", BODY)[0]]
    deadline = time.monotonic() + 60
    while statuses[-1] != 200 and time.monotonic() < deadline:
        statuses.append(client.call("POST", "/generate", BODY)[0])
    assert statuses[-1] == 200
    assert set(statuses) <= {200, 503}
    (after,) = containers(cloud, "lively")
    assert after["pid"] != before["pid"]


def test_an_update_of_count_and_environment_is_not_noticed_by_callers(
    cloud: LocalCloud, stacks: dict[str, Stack], tmp_path: Path
) -> None:
    client = deployed(cloud, replace(stacks["lively"], name="growing"))

    def grow(template: Template) -> None:
        variant(template)["InitialInstanceCount"] = 2
        environment(template)["MAX_CONCURRENT_REQUESTS"] = "64"

    cloudformation = cloud.client("cloudformation", region=stacks["lively"].region)
    with calling(client) as statuses:
        update(cloud, edited(stacks["lively"], tmp_path, grow, "growing"))
        before = statuses[200]
        wait_for(lambda: statuses.total() > before + 1 or None, "an answer of the new instance")
    assert set(statuses) == {200}
    events = cloudformation.describe_stack_events(StackName="growing")["StackEvents"]
    assert any("The alarms are watched for" in event.get("ResourceStatusReason", "") for event in events)
    assert len(containers(cloud, "growing")) == 2


def test_while_an_update_changes_the_engine_the_one_that_answers_judges_the_bodies(
    cloud: LocalCloud, stacks: dict[str, Stack], tmp_path: Path
) -> None:
    client, another = deployed(cloud, replace(stacks["lively"], name="changing")), stacks["gpt-oss-120b"].template

    def change_engine(template: Template) -> None:
        container = properties(template, "SageMaker::Model")["PrimaryContainer"]
        container.update(properties(another, "SageMaker::Model")["PrimaryContainer"])
        container["Environment"] |= {"SLIPWAY_LOCAL_STARTUP_SECONDS": "500"}
        for document in policies(another, "EndpointRole"):
            policies(template, "EndpointRole")[0]["Statement"] += document["Statement"]
        new = functions(another)["generate"]["Environment"]["Variables"]
        for function in functions(template).values():
            function["Environment"]["Variables"] |= {
                name: new[name] for name in ("ENGINE", "MODEL_ID", "REQUEST_SCHEMA")
            }

    def code(body: dict[str, Any]) -> tuple[int, str | None]:
        status, _, answer = client.call("POST", "/generate", body)
        return status, answer["error"]["code"] if status >= 400 else None

    old, new = BODY, {"messages": [{"role": "user", "content": "Hello"}], "max_tokens": 3}
    assert (code(old), code(new)) == ((200, None), (400, "unsupported_body"))
    with ThreadPoolExecutor(1) as executor:
        updating = executor.submit(deploy, cloud, edited(stacks["lively"], tmp_path, change_engine, "changing"))
        # The new functions send it to the old container.
        wait_for(lambda: code(new) == (400, "rejected_by_model") or None, "the new functions")
        wait_for(lambda: len(containers(cloud, "changing")) == 2 or None, "the new instance beside the old one")
        assert code(old) == (200, None)
        described = client.call("GET", "/endpoint")[2]
        assert (described["engine"], described["model_id"], described["status"]) == (None, None, "Updating")
        answers = [code(old)]
        while not wait([updating], timeout=0.2).done:
            cloud.advance(60)
            answers.append(code(old))
        updating.result()
    answers.append(code(old))
    assert answers == sorted(answers, key=lambda answer: answer[0])  # no answer comes after the first refusal
    assert (code(old), code(new)) == ((400, "unsupported_body"), (200, None))
    assert client.call("GET", "/endpoint")[2]["engine"] == "vllm"


def test_a_bad_update_is_rolled_back_and_the_endpoint_answers_all_the_while(
    cloud: LocalCloud, stacks: dict[str, Stack], tmp_path: Path
) -> None:
    client = deployed(cloud, replace(stacks["lively"], name="steady"))
    before = client.call("GET", "/endpoint")[2]
    with calling(client) as statuses, pytest.raises(DeployError) as caught:
        update(cloud, edited(stacks["lively"], tmp_path, refuse_to_start, "steady"))
    assert caught.value.status == "UPDATE_ROLLBACK_COMPLETE"
    assert any("did not pass the ping health check" in reason for reason in caught.value.reasons)
    assert set(statuses) == {200}
    assert client.call("GET", "/endpoint")[2] == before


def test_an_update_that_trips_an_alarm_is_rolled_back_by_sagemaker_which_gives_cloudformation_no_reason(
    cloud: LocalCloud, stacks: dict[str, Stack], tmp_path: Path, slipway: Command
) -> None:
    client = deployed(cloud, replace(stacks["lively"], name="alarmed"))
    endpoint, sagemaker = client.call("GET", "/endpoint")[2]["name"], cloud.client("sagemaker", region=client.region)
    before = sagemaker.describe_endpoint(EndpointName=endpoint)["EndpointConfigName"]
    cloudwatch = cloud.client("cloudwatch", region=client.region)
    alarms = cloudwatch.describe_alarms(AlarmNamePrefix="alarmed-")["MetricAlarms"]
    (alarm,) = (each["AlarmName"] for each in alarms if each.get("MetricName") == "ModelFailures")

    def change(template: Template) -> None:
        environment(template)["MAX_CONCURRENT_REQUESTS"] = "32"
        policy = properties(template, "SageMaker::Endpoint")["DeploymentConfig"]["BlueGreenUpdatePolicy"]
        # The rollback ends the wait.
        policy |= {"TerminationWaitInSeconds": 3600, "MaximumExecutionTimeoutInSeconds": 7200}

    with ThreadPoolExecutor(1) as executor:
        updating = executor.submit(deploy, cloud, edited(stacks["lively"], tmp_path, change, "alarmed"))
        wait_for(lambda: len(containers(cloud, "alarmed")) == 2 or None, "the new instance beside the old one")
        while not wait([updating], timeout=0.2).done:
            # In a loop, because the alarm ends by itself without failures.
            cloudwatch.set_alarm_state(AlarmName=alarm, StateValue="ALARM", StateReason="a test")
            cloud.advance(10)
    updating.result()
    assert sagemaker.describe_endpoint(EndpointName=endpoint)["EndpointConfigName"] == before
    assert client.call("POST", "/generate", BODY)[0] == 200
    verified = slipway("verify", "alarmed").stdout
    assert "ok      stack           UPDATE_COMPLETE" in verified
    assert f"FAILED  configuration   the endpoint runs {before}; the stack's is " in verified


def test_a_scaled_count_outlives_an_update_and_the_type_cannot_change(
    cloud: LocalCloud, stacks: dict[str, Stack], tmp_path: Path
) -> None:
    def hold(template: Template) -> None:
        properties(template, "ApplicationAutoScaling::ScalableTarget")["MinCapacity"] = 3  # nothing is scaled in

    client = deployed(cloud, edited(stacks["scaled"], tmp_path, hold, "scaling"))
    endpoint = client.call("GET", "/endpoint")[2]["name"]
    sagemaker = cloud.client("sagemaker", region=client.region)
    weights = [{"VariantName": "AllTraffic", "DesiredInstanceCount": 3}]
    sagemaker.update_endpoint_weights_and_capacities(EndpointName=endpoint, DesiredWeightsAndCapacities=weights)
    sagemaker.get_waiter("endpoint_in_service").wait(EndpointName=endpoint, WaiterConfig={"Delay": 1})

    def change(template: Template) -> None:
        hold(template)
        environment(template)["OPTION_MAX_MODEL_LEN"] = "4096"

    update(cloud, edited(stacks["scaled"], tmp_path, change, "scaling"))
    assert len(containers(cloud, "scaling")) == 3

    def change_type(template: Template) -> None:
        hold(template)
        variant(template)["InstanceType"] = "ml.g6.4xlarge"

    with pytest.raises(DeployError) as caught:
        deploy(cloud, edited(stacks["scaled"], tmp_path, change_type, "scaling"))
    assert any("InstanceType" in reason or "instance type" in reason for reason in caught.value.reasons)


def test_a_function_without_its_permission_is_refused(
    cloud: LocalCloud, stacks: dict[str, Stack], tmp_path: Path
) -> None:
    def revoke(template: Template) -> None:
        for document in policies(template, "Api"):
            document["Statement"] = [each for each in document["Statement"] if "sagemaker:" not in str(each["Action"])]

    client = deployed(cloud, edited(stacks["gpt2"], tmp_path, revoke, "revoked"))
    status, _, answer = client.call("POST", "/generate", BODY)
    assert (status, answer["error"]["code"]) == (502, "endpoint_refused")
    assert "arn:" not in answer["error"]["message"]
    status, _, answer = client.call("GET", "/endpoint")
    assert (status, answer["error"]["code"]) == (503, "status_unknown")


def test_an_execution_role_that_may_not_pull_the_image_fails_the_deploy(
    cloud: LocalCloud, stacks: dict[str, Stack], tmp_path: Path
) -> None:
    def revoke(template: Template) -> None:
        for document in policies(template, "EndpointRole"):
            document["Statement"] = [each for each in document["Statement"] if "ecr:Batch" not in str(each["Action"])]

    with pytest.raises(DeployError, match="permission for the image"):
        deploy(cloud, edited(stacks["gpt2"], tmp_path, revoke, "pullless"))


def test_an_update_can_mend_an_endpoint_whose_alarm_is_on(
    cloud: LocalCloud, stacks: dict[str, Stack], tmp_path: Path
) -> None:
    client = deployed(cloud, replace(stacks["lively"], name="unwell"))
    cloudwatch = cloud.client("cloudwatch", region=client.region)
    for alarm in cloudwatch.describe_alarms(AlarmNamePrefix="unwell-")["MetricAlarms"]:
        if "Rollback" not in alarm["AlarmName"]:
            cloudwatch.set_alarm_state(AlarmName=alarm["AlarmName"], StateValue="ALARM", StateReason="a test")

    def heal(template: Template) -> None:
        environment(template)["MAX_CONCURRENT_REQUESTS"] = "16"

    update(cloud, edited(stacks["lively"], tmp_path, heal, "unwell"))
    assert client.call("POST", "/generate", BODY)[0] == 200


def test_a_delete_leaves_nothing_but_the_logs_of_endpoint_and_functions(
    cloud: LocalCloud, stacks: dict[str, Stack]
) -> None:
    stack = replace(stacks["scaled"], name="leaving")
    outputs = deploy(cloud, stack)
    assert connect(cloud, outputs, stack.region).call("POST", "/generate", BODY)[0] == 200
    before = names_of(cloud, stack)
    assert all(before.values()), before
    destroy(cloud, stack)
    assert containers(cloud, "leaving") == []
    assert names_of(cloud, stack) == {kind: [] for kind in before}
    cloudformation = cloud.client("cloudformation", region=stack.region)
    pages = cloudformation.get_paginator("describe_stack_events").paginate(StackName=deleted_stack_id(cloudformation))
    deleted = list(pages.search("StackEvents[?ResourceStatus=='DELETE_COMPLETE'].ResourceType"))
    scaling = ["AWS::ApplicationAutoScaling::ScalingPolicy", "AWS::ApplicationAutoScaling::ScalableTarget"]
    assert deleted[::-1][:3] == [*scaling, "AWS::SageMaker::Endpoint"]  # what costs money goes first
    pages = cloud.client("logs", region=stack.region).get_paginator("describe_log_groups").paginate()
    left = [name for name in pages.search("logGroups[].logGroupName") if "leaving" in name]
    kept = [name for name in left if "/Api" not in name and "/Jobs" not in name]
    assert kept == [f"/aws/sagemaker/Endpoints/{outputs['EndpointName']}"]
    assert any("ApiGenerateLogGroup" in name for name in left)
    assert not any("AccessLogs" in name for name in left)


def names_of(cloud: LocalCloud, stack: Stack) -> dict[str, list[str]]:
    """Return the stack's resources that could cost money, by service."""
    listings = {
        "sagemaker": ("list_endpoints", "Endpoints[].EndpointName"),
        "lambda": ("list_functions", "Functions[].FunctionName"),
        "cloudwatch": ("describe_alarms", "MetricAlarms[].AlarmName"),
        "apigateway": ("get_rest_apis", "items[].name"),
    }
    return {
        service: [
            name
            for name in cloud.client(service, region=stack.region).get_paginator(call).paginate().search(path)
            if name.startswith(stack.name)
        ]
        for service, (call, path) in listings.items()
    }


def deleted_stack_id(cloudformation: Any) -> str:
    stacks = cloudformation.list_stacks(StackStatusFilter=["DELETE_COMPLETE"])["StackSummaries"]
    (found,) = (each["StackId"] for each in stacks if each["StackName"] == "leaving")
    stack_id: str = found
    return stack_id
