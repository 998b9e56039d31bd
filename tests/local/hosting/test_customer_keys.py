"""Deployments with keys that the stack makes: all of it works, and a grant on a key that is taken away is missed."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

from local_cloud.api_client import ApiClient
from local_cloud.assembly import Stack
from local_cloud.cloud import LocalCloud
from support.patience import wait_for
from support.stacks.deployed_stacks import Apis, ended
from support.stacks.machines import machines, wait_for_state
from support.stacks.traces import wait_for_segment

NAME = "customer-keys-realtime"
CHAT: dict[str, Any] = {"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 3}
LONG = CHAT | {"n": 120, "max_tokens": 800}  # an answer that is too large for a row
TEXT = {"inputs": "Hello"}
FORM = "multipart/form-data; boundary=line-between"
BATCH = {"endpoint": "/v1/chat/completions", "completion_window": "24h"}


@dataclass
class Deployed:
    """A deployed stack with keys: its API, and its resources by the beginning of their logical ids."""

    cloud: LocalCloud
    stack: Stack
    api: ApiClient
    ids: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        found = self.client("cloudformation").describe_stack_resources(StackName=self.stack.name)["StackResources"]
        self.ids = {each["LogicalResourceId"]: each["PhysicalResourceId"] for each in found}

    def client(self, service: str) -> Any:
        return self.cloud.client(service, region=self.stack.region)

    def id_of(self, beginning: str) -> str:
        (found,) = (value for name, value in self.ids.items() if name[:-8] == beginning)
        return found

    def invoked(self, function: str, event: dict[str, Any]) -> dict[str, Any]:
        """Call a function; returns what went wrong in it, or its answer."""
        answer = self.client("lambda").invoke(FunctionName=self.id_of(function), Payload=json.dumps(event))
        found: dict[str, Any] = json.loads(answer["Payload"].read())
        return found

    @contextmanager
    def without(self, role: str, action: str, mark: str) -> Iterator[None]:
        """Take an action on the keys from the statements of a role that have the mark, for a while."""
        iam, name = self.client("iam"), self.id_of(role)
        policies = {
            each: iam.get_role_policy(RoleName=name, PolicyName=each)["PolicyDocument"]
            for each in iam.list_role_policies(RoleName=name)["PolicyNames"]
        }
        taken = 0
        for policy, document in json.loads(json.dumps(policies)).items():
            kept = []
            for each in document["Statement"]:
                actions = [each["Action"]] if isinstance(each["Action"], str) else each["Action"]
                if action in actions and mark in json.dumps(each.get("Condition", "")):
                    actions, taken = [other for other in actions if other != action], taken + 1
                kept += [each | {"Action": actions}] if actions else []
            document = json.dumps(document | {"Statement": kept})
            iam.put_role_policy(RoleName=name, PolicyName=policy, PolicyDocument=document)
        assert taken, f"{role} has no {action} for {mark}"
        try:
            yield
        finally:
            for policy, document in policies.items():
                iam.put_role_policy(RoleName=name, PolicyName=policy, PolicyDocument=json.dumps(document))


@pytest.fixture(scope="module")
def realtime(cloud: LocalCloud, apis: Apis, stacks: dict[str, Stack]) -> Deployed:
    return Deployed(cloud, stacks[NAME], apis(NAME))


def submitted(api: ApiClient, body: dict[str, Any] = CHAT) -> dict[str, Any]:
    status, _, job = api.call("POST", "/jobs", body)
    assert status == 202, job
    return dict(job)


def succeeded(api: ApiClient, body: dict[str, Any] = CHAT) -> dict[str, Any]:
    job = ended(api, submitted(api, body))
    assert job["status"] == "succeeded", job
    return job


def openai(api: ApiClient, method: str, path: str, data: str | None = None, kind: str = "application/json") -> Any:
    """Call a route of OpenAI's; returns the status and the body."""
    headers = {"authorization": f"Bearer {api.api_key}", "content-type": kind}
    status, _, found = api.send(method, path, data.encode() if data else None, headers)
    return status, found


def uploaded(api: ApiClient) -> tuple[int, dict[str, Any]]:
    line = {"custom_id": "1", "method": "POST", "url": BATCH["endpoint"], "body": CHAT | {"model": "Qwen/Qwen3-4B"}}
    part = '--line-between\r\nContent-Disposition: form-data; name="{}"\r\n\r\n{}\r\n'
    form = part.format("purpose", "batch") + part.format('file"; filename="in.jsonl', json.dumps(line))
    status, file = openai(api, "POST", "/files", f"{form}--line-between--\r\n", FORM)
    return status, file


def new_batch(api: ApiClient) -> dict[str, Any]:
    file = uploaded(api)[1]["id"]
    return dict(openai(api, "POST", "/batches", json.dumps(BATCH | {"input_file_id": file}))[1])


def found_batch(api: ApiClient, batch: dict[str, Any]) -> dict[str, Any]:
    return dict(openai(api, "GET", f"/batches/{batch['id']}")[1])


def ended_batch(api: ApiClient, batch: dict[str, Any]) -> dict[str, Any]:
    def look() -> dict[str, Any] | None:
        found = found_batch(api, batch)
        return found if found["status"] in ("completed", "failed") else None

    return wait_for(look, f"the end of {batch['id']}")


def message_of(job: dict[str, Any]) -> dict[str, Any]:
    record = {"messageId": "1", "receiptHandle": "1", "attributes": {"ApproximateReceiveCount": "1"}}
    return {"Records": [record | {"body": json.dumps({"job": job["id"], "waits": 0})}]}


def test_jobs_and_counted_calls_of_a_realtime_endpoint_work(realtime: Deployed) -> None:
    api = realtime.api
    assert api.call("POST", "/generate", CHAT)[0] == 200
    assert succeeded(api)["output"]["choices"]
    assert api.call("GET", "/jobs")[2]["jobs"]


def test_the_role_of_a_poll_reads_a_large_answer_from_the_bucket(realtime: Deployed) -> None:
    path = f"/jobs/{succeeded(realtime.api, LONG)['id']}"
    assert len(json.dumps(realtime.api.call("GET", path)[2]["output"])) > 100_000
    with realtime.without("ApiPollJobRole", "kms:Decrypt", "s3"):
        assert realtime.api.call("GET", path)[0] == 500


def test_a_batch_and_its_files_work(realtime: Deployed) -> None:
    batch = ended_batch(realtime.api, new_batch(realtime.api))
    assert batch["request_counts"] == {"total": 1, "completed": 1, "failed": 0}
    assert openai(realtime.api, "GET", f"/files/{batch['output_file_id']}/content")[0] == 200


@pytest.fixture(scope="module")
def asynchronous(cloud: LocalCloud, apis: Apis, stacks: dict[str, Stack]) -> Deployed:
    return Deployed(cloud, stacks["customer-keys"], apis("customer-keys"))


def test_jobs_of_an_asynchronous_endpoint_work(asynchronous: Deployed) -> None:
    assert succeeded(asynchronous.api, TEXT)["output"]
    assert asynchronous.api.call("POST", "/generate", TEXT)[0] == 200


def test_an_endpoint_that_may_not_use_the_key_answers_no_job(asynchronous: Deployed) -> None:
    with asynchronous.without("EndpointRole", "kms:Decrypt", ""):
        job = submitted(asynchronous.api, TEXT)
        asynchronous.cloud.advance(60)
        assert asynchronous.api.call("GET", f"/jobs/{job['id']}")[2]["status"] == "running"


def test_a_machine_goes_on_with_the_trace_of_a_job(cloud: LocalCloud, apis: Apis) -> None:
    api = apis("customer-keys-ec2")
    job = succeeded(api, {"prompt": "Hello"})
    name = "customer-keys-ec2 run_job"
    (run,) = (each for each in wait_for_segment(cloud, api.region, job["trace_id"], name) if each["name"] == name)
    assert [each["name"] for each in run["subsegments"]] == ["claim", "model", "record"]


def test_jobs_start_a_machine_whose_disk_has_the_key(cloud: LocalCloud, apis: Apis, stacks: dict[str, Stack]) -> None:
    on_machines = Deployed(cloud, stacks["customer-keys-ec2"], apis("customer-keys-ec2"))
    instance, prompt = on_machines.id_of("MachinesMachine0Instance"), {"prompt": "Hello"}
    assert succeeded(on_machines.api, prompt)["output"]
    cloud.client("ec2", region=on_machines.stack.region).stop_instances(InstanceIds=[instance])
    wait_for_state(cloud, instance, "stopped")
    cloud.advance(120)
    with (
        on_machines.without("ApiRouteRole", "kms:CreateGrant", ""),
        on_machines.without("JobsEveryMinuteRole", "kms:CreateGrant", ""),
    ):
        submitted(on_machines.api, prompt)
        cloud.advance(120)
        assert machines(cloud)[instance]["state"] == "stopped"
    cloud.advance(300)
    wait_for(lambda: machines(cloud)[instance]["state"] != "stopped" or None, "a start of the machine")


def generates(deployed: Deployed) -> bool:
    return deployed.api.call("POST", "/generate", CHAT)[0] == 200


def submits(deployed: Deployed) -> bool:
    return deployed.api.call("POST", "/jobs", CHAT)[0] == 202


def lists(deployed: Deployed) -> bool:
    return deployed.api.call("GET", "/jobs")[0] == 200


def uploads(deployed: Deployed) -> bool:
    return uploaded(deployed.api)[0] == 200


def reads_a_file(deployed: Deployed) -> bool:
    file = openai(deployed.api, "GET", "/files")[1]["data"][0]["id"]
    return bool(openai(deployed.api, "GET", f"/files/{file}/content")[0] == 200)


def polls(deployed: Deployed) -> bool:
    job = deployed.api.call("GET", "/jobs")[2]["jobs"][0]
    return deployed.api.call("GET", f"/jobs/{job['id']}")[0] == 200


def sweeps(deployed: Deployed) -> bool:
    return "looked_at" in deployed.invoked("JobsEveryMinuteFunction", {"task": "sweep_jobs"})


GRANTS: list[tuple[str, str, str, Callable[[Deployed], bool]]] = [
    ("ApiGenerateRole", "kms:Decrypt", "lambda:FunctionArn", generates),
    ("ApiGenerateRole", "kms:GenerateDataKey", "dynamodb", generates),
    ("ApiRouteRole", "kms:Decrypt", "lambda:FunctionArn", lists),
    ("ApiRouteRole", "kms:Decrypt", "dynamodb", lists),
    ("ApiRouteRole", "kms:GenerateDataKey", "dynamodb", submits),
    ("ApiRouteRole", "kms:GenerateDataKey", "s3", uploads),
    ("ApiRouteRole", "kms:Decrypt", "s3", reads_a_file),
    ("ApiPollJobRole", "kms:Decrypt", "dynamodb", polls),
    ("JobsEveryMinuteRole", "kms:Decrypt", "dynamodb", sweeps),
    ("JobsEveryMinuteRole", "kms:Decrypt", "lambda:FunctionArn", sweeps),
]


@pytest.mark.parametrize(("role", "action", "mark", "works"), GRANTS, ids=[" ".join(each[:3]) for each in GRANTS])
def test_a_grant_that_is_taken_away_is_missed(
    realtime: Deployed, role: str, action: str, mark: str, works: Callable[[Deployed], bool]
) -> None:
    submitted(realtime.api)
    uploaded(realtime.api)
    with realtime.without(role, action, mark):
        assert not works(realtime)
    assert works(realtime)


def test_the_worker_misses_what_it_may_do_with_the_key(realtime: Deployed) -> None:
    with realtime.without("JobsRunJobRole", "kms:Decrypt", "sqs"):  # so that the job stays in the queue
        job = submitted(realtime.api)
        for service in ("dynamodb", "s3"):  # it reads the row, then the input
            with realtime.without("JobsRunJobRole", "kms:Decrypt", service):
                assert realtime.invoked("JobsRunJobFunction", message_of(job))["batchItemFailures"]
        assert realtime.api.call("GET", f"/jobs/{job['id']}")[2]["status"] in ("queued", "running")
    realtime.cloud.advance(120)
    assert ended(realtime.api, job)["status"] == "succeeded"


def test_the_message_of_a_job_is_sent_with_the_key_of_the_queue(realtime: Deployed) -> None:
    with realtime.without("JobsRunJobRole", "kms:Decrypt", "sqs"):  # so that nobody reads the queue
        with realtime.without("ApiRouteRole", "kms:GenerateDataKey", "sqs"):
            job = submitted(realtime.api)
            assert waiting(realtime) == 0
        submitted(realtime.api)
        assert waiting(realtime) == 1
    realtime.cloud.advance(120)
    assert ended(realtime.api, job)["status"] == "succeeded", "the sweeper sends it"


def waiting(deployed: Deployed) -> int:
    name = "ApproximateNumberOfMessages"
    attributes = {"QueueUrl": deployed.id_of("WorkQueue"), "AttributeNames": [name]}
    return int(deployed.client("sqs").get_queue_attributes(**attributes)["Attributes"][name])


def test_the_driver_of_batches_misses_what_it_may_do_with_the_key(realtime: Deployed) -> None:
    # Last, because the batch goes on.
    with realtime.without("JobsEveryMinuteRole", "kms:Decrypt", "s3"):
        batch = new_batch(realtime.api)
        realtime.cloud.advance(300)
        realtime.invoked("JobsEveryMinuteFunction", {"task": "advance_batches"})
        assert found_batch(realtime.api, batch)["status"] == "validating"
    realtime.cloud.advance(300)
    wait_for(lambda: found_batch(realtime.api, batch)["status"] != "validating" or None, "a step of the driver")
