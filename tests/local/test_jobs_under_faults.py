"""Jobs on real templates over real HTTP while functions are killed and services fail them; then they are counted."""

import json
import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import psutil
import pytest
import requests

from local_cloud.api_client import ApiClient
from local_cloud.assembly import Stack
from local_cloud.cloud import LocalCloud, free_port
from local_cloud.deploy import deploy
from support.deployed_stacks import containers, deployed, resource_ids
from support.known_deployments import ACCOUNT_SETTINGS

JOBS, CALLERS = 60, 8
MOST_TRIES = 30
FINAL = {"succeeded", "failed", "expired", "cancelled"}
# The clock is put forward by less than the deadline of a job in all.
STEP_IN_SECONDS, MOST_STEPS = 30, 110
MOST_LOOKS = 600

# How often the calls of functions fail. Each fault is counted, and none may stay unused.
EVERYWHERE: list[dict[str, Any]] = [
    # submit is killed after its write, and after it has stored the input
    {"service": "dynamodb", "operation": "TransactWriteItems", "fault": "kill", "function": "SubmitJob", "count": 5},
    {"service": "s3", "operation": "PutObject", "fault": "kill", "function": "SubmitJob", "count": 3},
    {"service": "dynamodb", "operation": "TransactWriteItems", "fault": "error_after", "count": 5},
    {"service": "dynamodb", "operation": "TransactWriteItems", "fault": "throttle", "count": 5},
    {"service": "dynamodb", "operation": "PutItem", "fault": "error_after", "count": 5},
    {"service": "s3", "operation": "GetObject", "fault": "throttle", "count": 5},
    {"service": "events", "operation": "PutEvents", "fault": "throttle", "count": 5},
]
IN_MODE: dict[str, list[dict[str, Any]]] = {
    "gpt2": [
        {"service": "sqs", "operation": "SendMessage", "fault": "throttle", "count": 5},
        {"service": "sagemaker-runtime", "operation": "InvokeEndpoint", "fault": "throttle", "count": 8},
        {"service": "sagemaker-runtime", "operation": "InvokeEndpoint", "fault": "error_after", "count": 4},
        # a worker dies after the model has answered, and after it has stored the output
        {"service": "sagemaker-runtime", "operation": "InvokeEndpoint", "fault": "kill", "count": 2},
        {"service": "s3", "operation": "PutObject", "fault": "kill", "function": "RunJob", "count": 2},
    ],
    "async": [
        {"service": "sagemaker-runtime", "operation": "InvokeEndpointAsync", "fault": "throttle", "count": 8},
        {"service": "sagemaker-runtime", "operation": "InvokeEndpointAsync", "fault": "error_after", "count": 4},
        # the recorder is killed half-way
        {"service": "dynamodb", "operation": "PutItem", "fault": "kill", "function": "RecordResult", "count": 3},
    ],
}


@dataclass
class History:
    """What the callers saw: each job's statuses in order, and who was told that it was accepted."""

    seen: dict[str, list[tuple[str, str]]] = field(default_factory=dict)
    accepted: set[str] = field(default_factory=set)
    cancelled: set[str] = field(default_factory=set)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def note(self, job: dict[str, Any]) -> None:
        with self.lock:
            self.seen.setdefault(job["id"], []).append((job["status"], json.dumps(job.get("output", job.get("error")))))

    def unended(self) -> list[str]:
        return [job for job, seen in self.seen.items() if seen[-1][0] not in FINAL]


@pytest.fixture(scope="module")
def faulty_cloud(stacks: dict[str, Stack]) -> Iterator[LocalCloud]:
    with LocalCloud(port=free_port()) as running:
        running.wait_until_ready()
        deploy(running, stacks[ACCOUNT_SETTINGS])
        yield running


def order(cloud: LocalCloud, faults: list[dict[str, Any]]) -> None:
    for fault in faults:
        requests.post(f"{cloud.url}/_slipway/faults", json=fault, timeout=10).raise_for_status()


def injected(cloud: LocalCloud) -> dict[str, int]:
    """How often each fault has happened."""
    happened: Counter[str] = Counter()
    for fault in requests.get(f"{cloud.url}/_slipway/faults", timeout=10).json()["faults"]:
        names = ("fault", "service", "operation", "function")
        happened[" ".join(fault[name] for name in names).strip()] += fault["injected"]
    return happened


def call(client: ApiClient, method: str, path: str, body: Any = None, key: str | None = None) -> tuple[int, Any]:
    """Asks until there is an answer that is not the service's own trouble; a repeated submit has the same key."""
    headers = {"content-type": "application/json"} | ({"Idempotency-Key": key} if key else {})
    data = None if body is None else json.dumps(body).encode()
    for _ in range(MOST_TRIES):
        status, _, answer = client.send(method, path, data, headers)
        if status < 500 and status != 429:
            return status, answer
    raise AssertionError(f"{method} {path}: {MOST_TRIES} times in trouble: {status} {answer}")


def submit(client: ApiClient, history: History, number: int) -> None:
    """A caller submits a job, sometimes cancels it in mid-flight, and sometimes submits it once more."""
    body = {"inputs": f"Job {number} is", "parameters": {"max_new_tokens": 1 + number % 20, "seed": number}}
    if number % 50 == 7:
        body["parameters"] = {"max_new_tokens": 999_999}  # the model refuses it
    status, job = call(client, "POST", "/jobs", body, key=f"job {number}")
    assert status in (200, 202), (status, job)
    history.accepted.add(job["id"])
    history.note(job)
    if number % 25 == 3:
        status, answer = call(client, "DELETE", f"/jobs/{job['id']}")
        assert status in (200, 409), (status, answer)
        if status == 200:
            history.cancelled.add(job["id"])
    if number % 20 == 1:
        _, again = call(client, "POST", "/jobs", body, key=f"job {number}")
        assert again["id"] == job["id"]


def look(client: ApiClient, history: History, job_id: str) -> None:
    status, job = call(client, "GET", f"/jobs/{job_id}")
    assert status == 200, (status, job)
    history.note(job)


def settle(cloud: LocalCloud, stack: Stack, client: ApiClient, history: History) -> None:
    """Put the clock forward while nothing moves, each time with a second sweeper, until every job has ended."""
    sweeper = next(name for name in resource_ids(cloud, stack, "AWS::Lambda::Function") if "SweepJobs" in name)
    functions = cloud.client("lambda", region=stack.region)
    steps, before = 0, None
    for _ in range(MOST_LOOKS):
        with ThreadPoolExecutor(CALLERS) as callers:
            list(callers.map(lambda job_id: look(client, history, job_id), history.unended()))
        if not history.unended():
            return
        now = {job_id: history.seen[job_id][-1] for job_id in history.unended()}
        if now == before and is_quiet(cloud, stack):
            assert steps < MOST_STEPS, f"never ended: {now}"
            steps += 1
            cloud.advance(STEP_IN_SECONDS)
            functions.invoke(FunctionName=sweeper, InvocationType="Event", Payload=b"{}")
        before = now
    raise AssertionError(f"something always moved: {before}")


def is_quiet(cloud: LocalCloud, stack: Stack) -> bool:
    """Whether no model works and no message waits for a function."""
    sqs, name = cloud.client("sqs", region=stack.region), "ApproximateNumberOfMessages"
    queues = [url for url in resource_ids(cloud, stack, "AWS::SQS::Queue") if "DeadLetters" not in url]
    answers = [sqs.get_queue_attributes(QueueUrl=url, AttributeNames=[name])["Attributes"] for url in queues]
    waiting = sum(int(attributes[name]) for attributes in answers)
    return not waiting and not any(each["outstanding"] for each in containers(cloud, stack.name))


def kill_model(cloud: LocalCloud, stack: Stack) -> None:
    for container in containers(cloud, stack.name):
        # One that starts has no process yet; None would be this one.
        if container["pid"]:
            with suppress(psutil.NoSuchProcess):
                psutil.Process(container["pid"]).kill()


@pytest.mark.parametrize("mode", ["gpt2", "async"])
def test_no_job_is_lost_or_changed_whatever_fails_between_the_parts(
    faulty_cloud: LocalCloud, stacks: dict[str, Stack], mode: str
) -> None:
    cloud, stack, history = faulty_cloud, stacks[mode], History()
    client = deployed(cloud, stack)
    order(cloud, EVERYWHERE + IN_MODE[mode])
    try:
        with ThreadPoolExecutor(CALLERS) as callers:
            list(callers.map(lambda number: submit(client, history, number), range(JOBS)))
        kill_model(cloud, stack)
        settle(cloud, stack, client, history)
    finally:
        happened = injected(cloud)
        requests.delete(f"{cloud.url}/_slipway/faults", timeout=10)
    redrive(cloud, stack)
    check(client, history, rows(cloud, stack), happened)


def redrive(cloud: LocalCloud, stack: Stack) -> None:
    """Dead letters go back, those of jobs that have long ended too."""
    sqs = cloud.client("sqs", region=stack.region)
    urls = resource_ids(cloud, stack, "AWS::SQS::Queue")
    dead = next(url for url in urls if "DeadLetters" in url)
    queue = next(url for url in urls if url != dead)
    while messages := sqs.receive_message(QueueUrl=dead, MaxNumberOfMessages=10).get("Messages", []):
        for message in messages:
            sqs.send_message(QueueUrl=queue, MessageBody=message["Body"], MessageGroupId="redriven")
            sqs.delete_message(QueueUrl=dead, ReceiptHandle=message["ReceiptHandle"])


def rows(cloud: LocalCloud, stack: Stack) -> list[dict[str, Any]]:
    """Every item of the table, once nothing is left to be done for any job."""
    (table,) = resource_ids(cloud, stack, "AWS::DynamoDB::Table")
    dynamodb = cloud.client("dynamodb", region=stack.region)
    for _ in range(MOST_STEPS):
        pages = dynamodb.get_paginator("scan").paginate(TableName=table, ConsistentRead=True)
        items = [item for page in pages for item in page["Items"]]
        due = [item["pk"]["S"] for item in items if "due_at" in item]
        if not due:
            return items
        cloud.advance(2 * STEP_IN_SECONDS)
    raise AssertionError(f"never at rest: {due}")


def check(client: ApiClient, history: History, items: list[dict[str, Any]], happened: dict[str, int]) -> None:
    """I1 to I9 of the design, as far as callers and table can show them."""
    jobs = {item["id"]["S"]: item for item in items if item["pk"]["S"].startswith("job#")}
    assert len(history.accepted) == JOBS, "one key, one job"
    assert history.accepted == set(jobs), "no accepted job is lost, and none was made without being told"
    shown = {
        "SUCCEEDED": "succeeded",
        "FAILED": "failed",
        "EXPIRED": "expired",
        "CANCELLED": "cancelled",
    }
    for job_id, seen in history.seen.items():
        ends = {each for each in seen if each[0] in FINAL}
        assert len(ends) == 1, f"{job_id} has more or less than one end: {jobs[job_id]}, seen {Counter(seen)}"
        first_end = next(index for index, each in enumerate(seen) if each[0] in FINAL)
        assert all(each[0] in FINAL for each in seen[first_end:]), f"{job_id} left its end: {seen}"
        assert shown[jobs[job_id]["state"]["S"]] == seen[-1][0]
    for job_id, item in jobs.items():
        assert ("output" in item) == (item["state"]["S"] == "SUCCEEDED"), job_id
        assert "expires_at" in item, job_id
        assert "Job " not in json.dumps(item), "a row holds no text"
    for job_id in history.cancelled:
        assert jobs[job_id]["state"]["S"] == "CANCELLED"
    slots = [int(item["open"]["N"]) for item in items if "open" in item]
    assert sum(slots) == 0, "every slot was given back exactly once"
    states = Counter(item["state"]["S"] for item in jobs.values())
    print(f"{len(jobs)} jobs: {dict(states)}; faults: {happened}")
    assert states["EXPIRED"] == 0
    assert states["SUCCEEDED"] > 0.8 * JOBS
    assert all(happened.values()), happened
