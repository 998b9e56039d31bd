"""Asynchronous endpoints: queue, outputs and failures in S3, notifications, permissions of the role."""

import json
from collections.abc import Iterator
from typing import Any

import boto3
import psutil
import pytest
import requests
from botocore.config import Config
from botocore.exceptions import ClientError

from local_cloud.cloud import LocalCloud
from support.patience import wait_for
from support.stacks.asynchronous_endpoints import (
    BODY,
    EVERYTHING,
    PUBLISH,
    PULL,
    READ,
    VARIANT,
    WRITE,
    DeployedEndpoint,
    endpoint_resources,
    variant,
)
from support.stacks.small_stacks import REGION, StackFailedError, create, statement

FAILING = {"inputs": 5}  # LMI answers 424
SLOW = {"SLIPWAY_LOCAL_SECONDS_PER_TOKEN": "0.1"}


def tokens(count: int) -> dict[str, Any]:
    return {"inputs": "A list is", "parameters": {"max_new_tokens": count}}


# Takes 100 s of real time: it ends with its container.
ENDLESS = tokens(1000)


@pytest.fixture(scope="module")
def endpoint(bare_cloud: LocalCloud) -> DeployedEndpoint:
    """One instance that takes 0.1 s per token and two invocations at a time."""
    # The container would refuse a third concurrent invocation, so a broken limit shows.
    environment = SLOW | {"SERVING_JOB_QUEUE_SIZE": "2"}
    return DeployedEndpoint(bare_cloud, "async", endpoint_resources(environment=environment, concurrency=2))


@pytest.fixture
def asleep(endpoint: DeployedEndpoint) -> Iterator[DeployedEndpoint]:
    """Scale the endpoint to no instances until the test ends."""
    endpoint.scale_to(0)
    yield endpoint
    endpoint.scale_to(1)


def test_an_output_is_stored_and_then_announced(endpoint: DeployedEndpoint) -> None:
    response = endpoint.submit(Accept="application/json", InferenceId="job.1", S3OutputPathExtension="job/1")
    assert response["ResponseMetadata"]["HTTPStatusCode"] == 202
    assert response["InferenceId"] == "job.1"
    assert response["OutputLocation"].startswith(f"s3://{endpoint.bucket}/output/job/1/")
    assert response["FailureLocation"].startswith(f"s3://{endpoint.bucket}/failure/")
    told = endpoint.told_of(response)
    content, content_type = endpoint.read(response["OutputLocation"])
    assert len(json.loads(content)["generated_text"].split()) == 3
    request = told["requestParameters"]
    assert told == {
        "awsRegion": REGION,
        "eventTime": told["eventTime"],
        "receivedTime": told["receivedTime"],
        "invocationStatus": "Completed",
        "requestParameters": {
            "accept": "application/json",
            "contentType": "application/json",
            "endpointName": endpoint.name,
            "inputLocation": request["inputLocation"],
        },
        "responseParameters": {"contentType": content_type, "outputLocation": response["OutputLocation"]},
        "inferenceId": "job.1",
        "eventVersion": "1.0",
        "eventSource": "aws:sagemaker",
        "eventName": "InferenceResult",
    }
    assert content_type == "application/json"
    assert request["inputLocation"].startswith(f"s3://{endpoint.bucket}/input/")
    assert told["receivedTime"] < told["eventTime"]


def test_an_inline_body_needs_no_object(endpoint: DeployedEndpoint) -> None:
    response = endpoint.runtime.invoke_endpoint_async(EndpointName=endpoint.name, Body=json.dumps(BODY).encode())
    assert endpoint.told_of(response)["requestParameters"] == {"endpointName": endpoint.name}
    assert "generated_text" in endpoint.read(response["OutputLocation"])[0]


def test_the_output_may_be_named(endpoint: DeployedEndpoint) -> None:
    response = endpoint.submit(S3OutputPathExtension="named", Filename="answer.json")
    assert response["OutputLocation"] == f"s3://{endpoint.bucket}/output/named/answer.json"
    assert endpoint.told_of(response)["invocationStatus"] == "Completed"
    assert endpoint.keys("output/named/") == ["output/named/answer.json"]


@pytest.mark.parametrize(
    ("composition", "key"),
    [("no slashes", "outputjob/1answer.out"), ("behind the name", "output/answer.out/job/1")],
)
def test_a_test_chooses_how_path_extension_and_name_are_joined(
    endpoint: DeployedEndpoint, composition: str, key: str
) -> None:
    url = f"{endpoint.cloud.url}/_slipway/output-composition"
    requests.post(url, json=composition, timeout=30).raise_for_status()
    try:
        response = endpoint.submit(S3OutputPathExtension="job/1", Filename="answer.out")
    finally:
        requests.post(url, json="folder", timeout=30).raise_for_status()
    assert response["OutputLocation"] == f"s3://{endpoint.bucket}/{key}"
    assert endpoint.told_of(response)["invocationStatus"] == "Completed"
    assert endpoint.keys(key) == [key]
    assert requests.post(url, json="anything else", timeout=30).status_code == 400


def test_a_refusal_by_the_container_is_stored_and_told(endpoint: DeployedEndpoint) -> None:
    response = endpoint.submit(FAILING)
    told = endpoint.told_of(response)
    assert told["invocationStatus"] == "Failed"
    assert told["failureReason"] == (
        "ClientError: Received client error (424) from primary. "
        "See the SageMaker Endpoint logs in your account for more information."
    )
    assert "responseParameters" not in told
    content, content_type = endpoint.read(response["FailureLocation"])
    assert (json.loads(content)["code"], content_type) == (424, "application/json")
    assert response["OutputLocation"].rpartition("/")[2] not in " ".join(endpoint.keys("output/"))


def test_an_error_of_the_container_is_a_server_error(bare_cloud: LocalCloud) -> None:
    environment = SLOW | {"SERVING_JOB_QUEUE_SIZE": "1"}
    overloaded = DeployedEndpoint(
        bare_cloud, "async-overloaded", endpoint_resources(environment=environment, concurrency=2)
    )
    doomed = overloaded.submit(ENDLESS)
    wait_for(lambda: connections_to(overloaded) or None, "the first invocation")
    refused = overloaded.told_of(overloaded.submit(tokens(1)))
    assert refused["failureReason"].startswith("ClientError: Received server error (503) from primary.")
    assert not overloaded.told_about(doomed)


def test_a_container_that_dies_fails_what_it_was_doing_and_the_rest_is_done_after_its_restart(
    endpoint: DeployedEndpoint,
) -> None:
    doomed = [endpoint.submit(ENDLESS) for _ in range(2)]
    waiting = endpoint.submit()
    wait_for(lambda: connections_to(endpoint) == requests_in(endpoint) == 2 or None, "two invocations in flight")
    kill_container(endpoint)
    for response in doomed:
        assert endpoint.told_of(response)["failureReason"].startswith("ClientError: Received server error (0)")
    assert endpoint.told_of(waiting)["invocationStatus"] == "Completed"


def test_an_invocation_takes_no_longer_than_its_timeout(endpoint: DeployedEndpoint) -> None:
    response = endpoint.submit(ENDLESS, InvocationTimeoutSeconds=60)
    wait_for(lambda: requests_in(endpoint) or None, "an invocation in flight")

    def told_after_a_minute() -> bool | None:  # the first may end before the invocation's own time limit begins
        endpoint.cloud.advance(60)
        return bool(endpoint.told_about(response)) or None

    wait_for(told_after_a_minute, "the end of the invocation")
    assert endpoint.told_of(response)["failureReason"].startswith("ClientError: Received server error (0)")
    assert "timed out" in endpoint.read(response["FailureLocation"])[0]
    # The container does not know that nobody waits for its answer.
    kill_container(endpoint)


def test_an_instance_gets_at_most_its_limit_of_concurrent_invocations(endpoint: DeployedEndpoint) -> None:
    responses = [endpoint.submit(tokens(5)) for _ in range(7)]
    assert {endpoint.told_of(response)["invocationStatus"] for response in responses} == {"Completed"}


def test_invocations_wait_for_an_instance(asleep: DeployedEndpoint) -> None:
    response = asleep.submit()
    asleep.cloud.advance(60)
    assert asleep.metric("HasBacklogWithoutCapacity", "Maximum") == 1
    assert asleep.metric("ApproximateBacklogSize", "Maximum") >= 1
    assert not asleep.told_about(response)
    asleep.scale_to(1)
    assert asleep.told_of(response)["invocationStatus"] == "Completed"


def test_an_invocation_that_waits_for_too_long_expires(asleep: DeployedEndpoint) -> None:
    expiring = asleep.submit(RequestTTLSeconds=600)
    patient = asleep.submit()
    asleep.cloud.advance(500)
    assert not asleep.told_about(expiring)
    asleep.cloud.advance(100)
    told = asleep.told_of(expiring)
    assert told["invocationStatus"] == "Failed"
    assert "expired" in told["failureReason"]
    assert "expired" in asleep.read(expiring["FailureLocation"])[0]
    asleep.scale_to(1)
    assert asleep.told_of(patient)["invocationStatus"] == "Completed"
    assert wait_for(lambda: asleep.metric("ExpiredRequests", VariantName=VARIANT) or None, "the metric") == 1


def test_an_update_keeps_the_queue(endpoint: DeployedEndpoint) -> None:
    responses = [endpoint.submit(tokens(10)) for _ in range(8)]
    other = another_config(endpoint, "async-updated")
    endpoint.sagemaker.update_endpoint(EndpointName=endpoint.name, EndpointConfigName=other)
    assert {endpoint.told_of(response)["invocationStatus"] for response in responses} == {"Completed"}
    endpoint.wait_until_in_service()


@pytest.mark.parametrize(("excluded", "instances"), [([], 0), (["DesiredInstanceCount"], 1)])
def test_an_update_retains_the_count_unless_it_is_excluded(
    asleep: DeployedEndpoint, excluded: list[str], instances: int
) -> None:
    asleep.sagemaker.update_endpoint(
        EndpointName=asleep.name,
        EndpointConfigName=another_config(asleep, f"async-retains-{instances}"),
        RetainAllVariantProperties=True,
        ExcludeRetainedVariantProperties=[{"VariantPropertyType": each} for each in excluded],
    )
    asleep.wait_until_in_service()
    assert asleep.instances() == instances


@pytest.mark.parametrize(
    ("request_", "said"),
    [
        ({"RequestTTLSeconds": 59}, "'requestTTLSeconds' failed to satisfy constraint: Member must have value greater"),
        ({"RequestTTLSeconds": 21601}, "'requestTTLSeconds' failed to satisfy constraint: Member must have value less"),
        ({"InvocationTimeoutSeconds": 0}, "'invocationTimeoutSeconds'"),
        ({"InvocationTimeoutSeconds": 3601}, "'invocationTimeoutSeconds'"),
        ({"InferenceId": "x" * 65}, "'inferenceId'"),
        ({"S3OutputPathExtension": "a b"}, "'s3OutputPathExtension'"),
        ({"Filename": "a.b.c"}, "'filename'"),
        ({"InputLocation": "file:///etc/passwd"}, "'inputLocation'"),
        ({"InputLocation": None}, "Value null at 'inputLocation'"),
        ({"Body": b"{}"}, "exactly one of Body and InputLocation"),
        ({"InputLocation": None, "Body": b"x" * 128_001}, "128000 bytes"),
        ({"EndpointName": "nobody"}, "Endpoint nobody of account"),
    ],
)
def test_a_request_that_sagemaker_refuses_is_refused(
    endpoint: DeployedEndpoint, request_: dict[str, Any], said: str
) -> None:
    given = {"EndpointName": endpoint.name, "InputLocation": f"s3://{endpoint.bucket}/any"} | request_
    with pytest.raises(ClientError) as caught:
        lenient_runtime(endpoint.cloud).invoke_endpoint_async(
            **{name: value for name, value in given.items() if value is not None}
        )
    refusal = caught.value.response
    assert (refusal["ResponseMetadata"]["HTTPStatusCode"], refusal["Error"]["Code"]) == (400, "ValidationError")
    assert said in refusal["Error"]["Message"]


def test_an_endpoint_takes_invocations_of_its_own_kind_only(endpoint: DeployedEndpoint) -> None:
    name = "realtime-beside-async"
    config = another_config(endpoint, name, asynchronous=False)
    endpoint.sagemaker.create_endpoint(EndpointName=name, EndpointConfigName=config)
    endpoint.sagemaker.get_waiter("endpoint_in_service").wait(EndpointName=name, WaiterConfig={"Delay": 1})
    assert "does not support this inference type" in refusal_of(
        lambda: endpoint.runtime.invoke_endpoint(EndpointName=endpoint.name, Body=b"{}")
    )
    location = f"s3://{endpoint.bucket}/any"
    assert "does not support this inference type" in refusal_of(
        lambda: endpoint.runtime.invoke_endpoint_async(EndpointName=name, InputLocation=location)
    )
    counts = [{"VariantName": VARIANT, "DesiredInstanceCount": 0}]
    assert "at least 1" in refusal_of(
        lambda: endpoint.sagemaker.update_endpoint_weights_and_capacities(
            EndpointName=name, DesiredWeightsAndCapacities=counts
        )
    )


def test_an_endpoint_is_not_created_without_instances(bare_cloud: LocalCloud) -> None:
    resources = endpoint_resources()
    resources["Config"]["Properties"]["ProductionVariants"] = [variant() | {"InitialInstanceCount": 0}]
    with pytest.raises(StackFailedError, match="greater than or equal to 1"):
        create(bare_cloud, "async-empty", resources)


@pytest.mark.parametrize("member", ["S3OutputPath", "S3FailurePath"])
def test_a_location_outside_s3_is_refused(endpoint: DeployedEndpoint, member: str) -> None:
    output = {"S3OutputPath": "s3://a/b"} | {member: "nowhere"}
    variants = endpoint.config()["ProductionVariants"]
    assert f"{member[:1].lower()}{member[1:]}" in refusal_of(
        lambda: endpoint.sagemaker.create_endpoint_config(
            EndpointConfigName="refused", ProductionVariants=variants, AsyncInferenceConfig={"OutputConfig": output}
        )
    )


def test_a_caller_needs_the_permission(endpoint: DeployedEndpoint) -> None:
    endpoint_arn = f"arn:aws:sagemaker:{REGION}:*:endpoint/*"
    stranger = endpoint.cloud.create_user("stranger", [statement("sagemaker:InvokeEndpoint", endpoint_arn)])
    runtime = endpoint.cloud.client("sagemaker-runtime", region=REGION, credentials=stranger)
    with pytest.raises(ClientError) as caught:
        runtime.invoke_endpoint_async(EndpointName=endpoint.name, InputLocation=f"s3://{endpoint.bucket}/any")
    assert caught.value.response["ResponseMetadata"]["HTTPStatusCode"] == 403


def test_a_role_that_may_not_read_the_input_fails_the_invocation(bare_cloud: LocalCloud) -> None:
    endpoint = DeployedEndpoint(bare_cloud, "async-blind", endpoint_resources(statements=[PULL, WRITE, PUBLISH]))
    response = endpoint.submit()
    told = endpoint.told_of(response)
    assert told["invocationStatus"] == "Failed"
    assert "AccessDenied" in told["failureReason"]
    assert "AccessDenied" in endpoint.read(response["FailureLocation"])[0]
    assert wait_for(lambda: endpoint.metric("RequestDownloadFailures", VariantName=VARIANT) or None, "a metric") == 1


def test_an_output_that_the_role_may_not_write_is_never_announced_as_success(bare_cloud: LocalCloud) -> None:
    endpoint = DeployedEndpoint(bare_cloud, "async-mute", endpoint_resources(statements=[PULL, READ, PUBLISH]))
    told = endpoint.told_of(endpoint.submit())
    assert told["invocationStatus"] == "Failed"
    assert "AccessDenied" in told["failureReason"]
    assert endpoint.keys("output/") == endpoint.keys("failure/") == []


def test_a_role_that_may_not_publish_fails_the_endpoint(bare_cloud: LocalCloud) -> None:
    with pytest.raises(StackFailedError, match='has "sns:Publish" permissions for topic'):
        create(bare_cloud, "async-unpublished", endpoint_resources(statements=[PULL, READ, WRITE]))


def test_a_notification_that_the_role_may_no_longer_send_is_lost_and_counted(bare_cloud: LocalCloud) -> None:
    endpoint = DeployedEndpoint(bare_cloud, "async-silenced", endpoint_resources())
    document = {"Version": "2012-10-17", "Statement": [*EVERYTHING[:-1], statement("logs:*")]}
    bare_cloud.client("iam", region=REGION).put_role_policy(
        RoleName=endpoint.ids["Role"], PolicyName="inline", PolicyDocument=json.dumps(document)
    )
    response = endpoint.submit()
    wait_for(lambda: endpoint.metric("NotificationFailures", VariantName=VARIANT) or None, "the metric")
    assert "generated_text" in endpoint.read(response["OutputLocation"])[0]
    assert endpoint.told() == []


def test_an_endpoint_that_is_deleted_forgets_its_queue(bare_cloud: LocalCloud) -> None:
    resources = endpoint_resources(environment=SLOW, concurrency=1)
    endpoint = DeployedEndpoint(bare_cloud, "async-deleted", resources)
    for _ in range(3):
        endpoint.submit(ENDLESS)
    wait_for(lambda: requests_in(endpoint) or None, "an invocation in flight")
    endpoint.sagemaker.delete_endpoint(EndpointName=endpoint.name)
    wait_for(lambda: None if containers(endpoint) else True, "the end of the container")
    assert (endpoint.told(), endpoint.keys("output/"), endpoint.keys("failure/")) == ([], [], [])


def containers(endpoint: DeployedEndpoint) -> list[dict[str, Any]]:
    found = requests.get(f"{endpoint.cloud.url}/_slipway/containers", timeout=30).json()
    return [each for each in found if each["endpoint"] == endpoint.name]


def container(endpoint: DeployedEndpoint) -> dict[str, Any]:
    (found,) = containers(endpoint)
    return found


def connections_to(endpoint: DeployedEndpoint) -> int:
    """The number of connections to the endpoint's container."""
    found = psutil.Process(container(endpoint)["pid"]).net_connections("tcp")
    return sum(each.status == psutil.CONN_ESTABLISHED for each in found)


def kill_container(endpoint: DeployedEndpoint) -> None:
    """Kill the container and wait for the next one."""
    pid = container(endpoint)["pid"]
    psutil.Process(pid).kill()
    wait_for(lambda: restarted(endpoint, pid) or None, "another container")


def restarted(endpoint: DeployedEndpoint, pid: int) -> bool:
    found = container(endpoint)
    return bool(found["pid"] != pid and found["status"] == "InService")


def requests_in(endpoint: DeployedEndpoint) -> int:
    """The number of requests that the endpoint's containers work on."""
    return sum(each["outstanding"] for each in containers(endpoint))


def another_config(endpoint: DeployedEndpoint, name: str, *, asynchronous: bool = True) -> str:
    """Create a configuration like the endpoint's."""
    config = endpoint.config()
    members = ("ProductionVariants", "AsyncInferenceConfig") if asynchronous else ("ProductionVariants",)
    endpoint.sagemaker.create_endpoint_config(EndpointConfigName=name, **{member: config[member] for member in members})
    return name


def lenient_runtime(cloud: LocalCloud) -> Any:
    """A client that leaves all validation to the service."""
    return boto3.client(
        "sagemaker-runtime",
        endpoint_url=cloud.url,
        region_name=REGION,
        aws_access_key_id=cloud.deployer.access_key_id,
        aws_secret_access_key=cloud.deployer.secret_access_key,
        config=Config(parameter_validation=False, retries={"total_max_attempts": 1}),
    )


def refusal_of(call: Any) -> str:
    with pytest.raises(ClientError) as caught:
        call()
    refusal = caught.value.response
    assert refusal["ResponseMetadata"]["HTTPStatusCode"] == 400
    assert refusal["Error"]["Code"] in ("ValidationError", "ValidationException")
    return str(refusal["Error"]["Message"])
