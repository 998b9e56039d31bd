"""A thousand jobs on real templates over real HTTP while the parts between them fail; then they are counted."""

import json
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from random import Random
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

JOBS_PER_MODE, CONCURRENCY = 500, 32
CLOCK_SPEED = 15
FINAL = {"succeeded", "failed", "expired", "cancelled"}
POLL_INTERVAL_IN_SECONDS = 0.3
ANSWERED_WITHIN_SECONDS = 240

# What goes wrong between the parts, as often as is said. Each is counted, and none may stay unused.
EVERYWHERE: list[dict[str, Any]] = [
    # submit is killed after its write, and after it has stored the input
    {"service": "dynamodb", "operation": "TransactWriteItems", "fault": "kill", "function": "SubmitJob", "count": 10},
    {"service": "s3", "operation": "PutObject", "fault": "kill", "function": "SubmitJob", "count": 5},
    {"service": "dynamodb", "operation": "TransactWriteItems", "fault": "error_after", "count": 10, "share": 0.2},
    {"service": "dynamodb", "operation": "PutItem", "fault": "error_after", "count": 10, "share": 0.2},
    {"service": "dynamodb", "operation": "TransactWriteItems", "fault": "throttle", "count": 10, "share": 0.2},
    {"service": "s3", "operation": "GetObject", "fault": "error", "count": 10, "share": 0.2},
    {"service": "events", "operation": "PutEvents", "fault": "throttle", "count": 20, "share": 0.2},
]
IN_MODE: dict[str, list[dict[str, Any]]] = {
    "gpt2": [
        {"service": "sqs", "operation": "SendMessage", "fault": "duplicate", "count": 20, "share": 0.2},
        {"service": "sqs", "operation": "SendMessage", "fault": "throttle", "count": 10, "share": 0.2},
        {"service": "sagemaker-runtime", "operation": "InvokeEndpoint", "fault": "throttle", "count": 40, "share": 0.2},
        {"service": "sagemaker-runtime", "operation": "InvokeEndpoint", "fault": "error_after", "count": 10},
        # a worker dies after the model has answered, and after it has stored the output
        {"service": "sagemaker-runtime", "operation": "InvokeEndpoint", "fault": "kill", "count": 5, "share": 0.1},
        {"service": "s3", "operation": "PutObject", "fault": "kill", "function": "RunJob", "count": 5, "share": 0.1},
    ],
    "async": [
        {"service": "sns", "operation": "Deliver", "fault": "drop", "count": 15, "share": 0.1},
        {"service": "sns", "operation": "Deliver", "fault": "duplicate", "count": 30, "share": 0.2},
        {"service": "sns", "operation": "Deliver", "fault": "delay", "after_seconds": 2.0, "count": 30, "share": 0.2},
        {"service": "sagemaker-runtime", "operation": "InvokeEndpointAsync", "fault": "throttle", "count": 30},
        {"service": "sagemaker-runtime", "operation": "InvokeEndpointAsync", "fault": "error_after", "count": 10},
        # the recorder is killed half-way
        {"service": "dynamodb", "operation": "PutItem", "fault": "kill", "function": "RecordResult", "count": 8},
    ],
}


@dataclass
class History:
    """What the callers saw: each job's statuses in order, and who was told that it was accepted."""

    seen: dict[str, list[tuple[str, str]]] = field(default_factory=dict)
    accepted: set[str] = field(default_factory=set)
    cancelled: set[str] = field(default_factory=set)
    refused: Counter[int] = field(default_factory=Counter)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def note(self, job: dict[str, Any]) -> None:
        with self.lock:
            self.seen.setdefault(job["id"], []).append((job["status"], json.dumps(job.get("output", job.get("error")))))


@pytest.fixture(scope="module")
def faulty_cloud(stacks: dict[str, Stack]) -> Iterator[LocalCloud]:
    with LocalCloud(port=free_port(), clock_speed=CLOCK_SPEED) as running:
        running.wait_until_ready()
        deploy(running, stacks[ACCOUNT_SETTINGS])
        yield running


def arm(cloud: LocalCloud, faults: list[dict[str, Any]]) -> None:
    for number, fault in enumerate(faults):
        requests.post(f"{cloud.url}/_slipway/faults", json={"seed": number} | fault, timeout=10).raise_for_status()


def injected(cloud: LocalCloud) -> dict[str, int]:
    """How often each fault has happened."""
    armed = requests.get(f"{cloud.url}/_slipway/faults", timeout=10).json()["faults"]
    happened: Counter[str] = Counter()
    for fault in armed:
        names = ("fault", "service", "operation", "function")
        happened[" ".join(fault[name] for name in names).strip()] += fault["injected"]
    return happened


def call(client: ApiClient, method: str, path: str, body: Any = None, key: str | None = None) -> tuple[int, Any]:
    """Asks until there is an answer that is not the service's own trouble; a repeated submit has the same key.

    Takes as long a rest as Retry-After says.
    """
    headers = {"content-type": "application/json"} | ({"Idempotency-Key": key} if key else {})
    deadline = time.monotonic() + ANSWERED_WITHIN_SECONDS
    while time.monotonic() < deadline:
        data = None if body is None else json.dumps(body).encode()
        status, found, answer = client.send(method, path, data, headers)
        time.sleep(float(found.get("retry-after", 0)) / CLOCK_SPEED)
        if status < 500 and status != 429:
            return status, answer
    raise AssertionError(f"{method} {path}: only {status} for {ANSWERED_WITHIN_SECONDS} s: {answer}")


def live(client: ApiClient, history: History, number: int) -> None:
    """One caller's job from its submission to its end: polled, listed, and now and then cancelled in mid-flight."""
    chance = Random(number)
    body = {"inputs": f"Job {number} is", "parameters": {"max_new_tokens": chance.randint(1, 20), "seed": number}}
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
    deadline = time.monotonic() + ANSWERED_WITHIN_SECONDS
    while time.monotonic() < deadline:
        # On the fast clock a held caller reads every few milliseconds, so most of them are not held.
        status, job = call(client, "GET", f"/jobs/{job['id']}?wait={25 if number % 10 == 0 else 0}")
        assert status == 200, (status, job)
        history.note(job)
        if job["status"] in FINAL:
            break
        time.sleep(POLL_INTERVAL_IN_SECONDS)
    if number % 40 == 1:
        status, again = call(client, "POST", "/jobs", body, key=f"job {number}")
        assert (status, again["id"]) == (200, job["id"])


def disturb(cloud: LocalCloud, stack: Stack, history: History, stop: threading.Event) -> None:
    """Kills the model once, throttles the table twice and calls a second sweeper every 3 s, until told to stop.

    What shall meet submissions waits for a number of jobs, not for a time: a fast machine submits all in 12 s.
    """
    sweeper = next(name for name in resource_ids(cloud, stack, "AWS::Lambda::Function") if "SweepJobs" in name)
    functions = cloud.client("lambda", region=stack.region)

    def kill_model() -> None:
        for container in containers(cloud, stack.name):
            # One that starts has no process yet; None would be this one.
            if container["pid"]:
                with suppress(psutil.NoSuchProcess):
                    psutil.Process(container["pid"]).kill()

    def throttle_table() -> None:
        table = {"service": "dynamodb", "fault": "throttle", "seconds": 2}
        arm(cloud, [table | {"operation": name} for name in ("GetItem", "PutItem", "TransactWriteItems")])

    disturbances = [(100, throttle_table), (170, kill_model), (250, throttle_table)]  # after how many accepted jobs
    swept_at = time.monotonic()
    while not stop.wait(0.1):
        if disturbances and len(history.accepted) >= disturbances[0][0]:
            disturbances.pop(0)[1]()
        if time.monotonic() > swept_at + 3:
            swept_at = time.monotonic()
            functions.invoke(FunctionName=sweeper, InvocationType="Event", Payload=b"{}")


@pytest.mark.parametrize("mode", ["gpt2", "async"])
def test_no_job_is_lost_or_changed_whatever_fails_between_the_parts(
    faulty_cloud: LocalCloud, stacks: dict[str, Stack], mode: str
) -> None:
    cloud, stack, history = faulty_cloud, stacks[mode], History()
    client = deployed(cloud, stack)
    arm(cloud, EVERYWHERE + IN_MODE[mode])
    stop = threading.Event()
    disturber = threading.Thread(target=disturb, args=(cloud, stack, history, stop))
    disturber.start()
    try:
        with ThreadPoolExecutor(CONCURRENCY) as callers:
            list(callers.map(lambda number: live(client, history, number), range(JOBS_PER_MODE)))
    finally:
        stop.set()
        disturber.join()
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
    deadline = time.monotonic() + ANSWERED_WITHIN_SECONDS
    while True:
        pages = dynamodb.get_paginator("scan").paginate(TableName=table, ConsistentRead=True)
        items = [item for page in pages for item in page["Items"]]
        due = [item["pk"]["S"] for item in items if "due_at" in item]
        if not due:
            return items
        assert time.monotonic() < deadline, f"never at rest: {due}"
        time.sleep(1)


def check(client: ApiClient, history: History, items: list[dict[str, Any]], happened: dict[str, int]) -> None:
    """I1 to I9 of the design, as far as callers and table can show them."""
    jobs = {item["id"]["S"]: item for item in items if item["pk"]["S"].startswith("job#")}
    assert len(history.accepted) == JOBS_PER_MODE, "one key, one job"
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
    assert states["SUCCEEDED"] > 0.9 * JOBS_PER_MODE
    assert all(happened.values()), happened
