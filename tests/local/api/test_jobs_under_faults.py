"""Jobs on real templates over real HTTP while the parts between them fail; then they are counted.

The simulation (`make chaos`) shows many more orders of events; here real processes are killed.
"""

import json
import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import psutil
import pytest
import requests

from local_cloud.api_client import ApiClient
from local_cloud.assembly import Stack
from local_cloud.cloud import LocalCloud, free_port
from local_cloud.deploy import deploy
from support.deployments.known_deployments import ACCOUNT_SETTINGS
from support.patience import wait_for
from support.stacks.deployed_stacks import containers, deployed, edited, resource_ids
from support.stacks.ordered_faults import OrderedFaults
from support.templates.template_parts import Template, properties

JOBS, CALLERS = 30, 10
FINAL = {"succeeded", "failed", "expired", "cancelled"}
MOST_MINUTES = 40  # the deadline of 30 minutes and two sweeps; a job whose look was lost may take as long

# Faults between the parts, and how often each is injected. Each must be used.
EVERYWHERE: list[dict[str, Any]] = [
    # submit is killed after its write, and after it has stored the input
    {"service": "dynamodb", "operation": "TransactWriteItems", "fault": "kill", "function": "ApiRoute", "count": 2},
    {"service": "s3", "operation": "PutObject", "fault": "kill", "function": "ApiRoute", "count": 2},
    {"service": "dynamodb", "operation": "TransactWriteItems", "fault": "error_after", "count": 2},
    {"service": "dynamodb", "operation": "PutItem", "fault": "error_after", "count": 2},
    {"service": "dynamodb", "operation": "TransactWriteItems", "fault": "throttle", "count": 2},
    {"service": "events", "operation": "PutEvents", "fault": "throttle", "count": 3},
]
IN_MODE: dict[str, list[dict[str, Any]]] = {
    "gpt2": [
        {"service": "sqs", "operation": "SendMessage", "fault": "throttle", "count": 2},
        {"service": "sagemaker-runtime", "operation": "InvokeEndpoint", "fault": "throttle", "count": 3},
        {"service": "sagemaker-runtime", "operation": "InvokeEndpoint", "fault": "error_after", "count": 2},
        # a worker dies after the model has answered, and after it has stored the output
        {"service": "sagemaker-runtime", "operation": "InvokeEndpoint", "fault": "kill", "count": 2},
        {"service": "s3", "operation": "PutObject", "fault": "kill", "function": "RunJob", "count": 2},
    ],
    "async": [
        {"service": "sagemaker-runtime", "operation": "InvokeEndpointAsync", "fault": "throttle", "count": 3},
        {"service": "sagemaker-runtime", "operation": "InvokeEndpointAsync", "fault": "error_after", "count": 2},
        # the recorder is killed half-way
        {"service": "dynamodb", "operation": "PutItem", "fault": "kill", "function": "RecordResult", "count": 3},
    ],
}


@dataclass
class History:
    """What the callers saw: each job's statuses in order, and the jobs that were accepted or cancelled."""

    seen: dict[str, list[tuple[str, str]]] = field(default_factory=dict)
    accepted: set[str] = field(default_factory=set)
    cancelled: set[str] = field(default_factory=set)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def note(self, job: dict[str, Any]) -> None:
        with self.lock:
            self.seen.setdefault(job["id"], []).append((job["status"], json.dumps(job.get("output", job.get("error")))))

    def open_jobs(self) -> list[str]:
        return [job_id for job_id, seen in self.seen.items() if seen[-1][0] not in FINAL]


@pytest.fixture(scope="module")
def faulty_cloud(stacks: dict[str, Stack]) -> Iterator[LocalCloud]:
    """Run a separate cloud, because faults and advances of the clock would hit other tests' functions."""
    with LocalCloud(port=free_port()) as running:
        running.wait_until_ready()
        deploy(running, stacks[ACCOUNT_SETTINGS])
        yield running


def without_throttle(template: Template) -> None:
    """Lift the throttle, because callers poll without pauses. All errors then come from faults, which run out."""
    for setting in properties(template, "ApiGateway::Stage")["MethodSettings"]:
        setting |= {"ThrottlingRateLimit": 10_000, "ThrottlingBurstLimit": 5_000}


def injected(faults: OrderedFaults) -> dict[str, int]:
    """Return how often each fault has happened."""
    happened: Counter[str] = Counter()
    for fault in faults.shown():
        names = ("fault", "service", "operation", "function")
        happened[" ".join(fault[name] for name in names).strip()] += fault["injected"]
    return happened


@dataclass
class Callers:
    """Callers of one API; they repeat a request after an error of the service."""

    client: ApiClient
    history: History

    def call(self, method: str, path: str, body: Any = None, key: str | None = None) -> tuple[int, Any]:
        """Send a request until the answer is not an error of the service; a repeated submit has the same key.

        The clock stands still, because an advance for each error would bring other jobs to their deadlines.
        """
        headers = {"content-type": "application/json"} | ({"Idempotency-Key": key} if key else {})
        for _ in range(20):
            data = None if body is None else json.dumps(body).encode()
            status, _, answer = self.client.send(method, path, data, headers)
            if status < 500 and status != 429:
                return status, answer
        raise AssertionError(f"{method} {path}: only {status}: {answer}")

    def submit(self, number: int) -> None:
        """Submit a job, some jobs twice, and cancel some of them."""
        chance = Random(number)
        body = {"inputs": f"Job {number} is", "parameters": {"max_new_tokens": chance.randint(1, 20), "seed": number}}
        if number % 15 == 7:
            body["parameters"] = {"max_new_tokens": 999_999}  # the model refuses it
        status, job = self.call("POST", "/jobs", body, key=f"job {number}")
        assert status in (200, 202), (status, job)
        self.history.accepted.add(job["id"])
        self.history.note(job)
        if number % 10 == 3:
            status, answer = self.call("DELETE", f"/jobs/{job['id']}")
            assert status in (200, 409), (status, answer)
            if status == 200:
                self.history.cancelled.add(job["id"])
        if number % 10 == 1:
            status, again = self.call("POST", "/jobs", body, key=f"job {number}")
            assert status in (200, 202), (status, again)
            assert again["id"] == job["id"], "one key, one job"

    def look(self, job_id: str) -> None:
        status, job = self.call("GET", f"/jobs/{job_id}")
        assert status == 200, (status, job)
        self.history.note(job)


def kill_model(cloud: LocalCloud, stack: Stack) -> None:
    for container in containers(cloud, stack.name):
        if container["pid"]:  # a starting container has no process yet
            with suppress(psutil.NoSuchProcess):
                psutil.Process(container["pid"]).kill()


def is_busy(cloud: LocalCloud, stack: Stack) -> bool:
    """Return whether a model or a function works, or a message is on its way to a function."""
    sqs = cloud.client("sqs", region=stack.region)
    for queue in resource_ids(cloud, stack, "AWS::SQS::Queue"):
        if "DeadLetters" not in queue:
            name = "ApproximateNumberOfMessages"
            found = sqs.get_queue_attributes(QueueUrl=queue, AttributeNames=[name])["Attributes"]
            if int(found[name]):
                return True
    running = requests.get(f"{cloud.url}/_slipway/invocations", timeout=30).json()["running"]
    return running > 0 or any(each["outstanding"] for each in containers(cloud, stack.name))


def finish(callers: Callers, cloud: LocalCloud, stack: Stack) -> None:
    """Poll all jobs until they end; whenever nothing works, put the clock forward by a minute with two sweepers."""
    (sweeper,) = (name for name in resource_ids(cloud, stack, "AWS::Lambda::Function") if "EveryMinute" in name)
    functions, minutes = cloud.client("lambda", region=stack.region), 0
    while open_jobs := callers.history.open_jobs():
        for job_id in open_jobs:
            callers.look(job_id)
        if callers.history.open_jobs() == open_jobs and not is_busy(cloud, stack):
            minutes += 1
            assert minutes <= MOST_MINUTES, f"never ended: {open_jobs}"
            cloud.advance(60)
            functions.invoke(FunctionName=sweeper, InvocationType="Event", Payload=b"{}")
    print(f"ended after {minutes} minutes")


@pytest.mark.parametrize("mode", ["gpt2", "async"])
def test_no_job_is_lost_or_changed_whatever_fails_between_the_parts(
    faulty_cloud: LocalCloud, stacks: dict[str, Stack], mode: str, tmp_path: Path
) -> None:
    cloud, history, faults = faulty_cloud, History(), OrderedFaults(faulty_cloud)
    stack = edited(stacks[mode], tmp_path, without_throttle, mode)
    callers = Callers(deployed(cloud, stack), history)
    for fault in EVERYWHERE + IN_MODE[mode]:
        faults.order(**fault).raise_for_status()
    with ThreadPoolExecutor(CALLERS) as executor:
        list(executor.map(callers.submit, range(JOBS // 2)))
        kill_model(cloud, stack)
        list(executor.map(callers.submit, range(JOBS // 2, JOBS)))
    finish(callers, cloud, stack)
    happened = injected(faults)
    faults.clear()
    check(history, items_at_rest(cloud, stack), happened)


def items_at_rest(cloud: LocalCloud, stack: Stack) -> list[dict[str, Any]]:
    """Wait until no job has work left, and return every item of the table."""
    (table,) = resource_ids(cloud, stack, "AWS::DynamoDB::Table")
    dynamodb = cloud.client("dynamodb", region=stack.region)
    for _ in range(MOST_MINUTES):
        # An advance during a sweep would use up the time that the sweep has left.
        wait_for(lambda: None if is_busy(cloud, stack) else True, "functions at rest")
        pages = dynamodb.get_paginator("scan").paginate(TableName=table, ConsistentRead=True)
        items = [item for page in pages for item in page["Items"]]
        due = [item["pk"]["S"] for item in items if "due_at" in item]
        if not due:
            return items
        cloud.advance(60)
    raise AssertionError(f"never at rest: {due}")


def check(history: History, items: list[dict[str, Any]], happened: dict[str, int]) -> None:
    """Check invariants I1 to I9 as far as callers and the table show them."""
    jobs = {item["id"]["S"]: item for item in items if item["pk"]["S"].startswith("job#")}
    assert len(history.accepted) == JOBS
    assert history.accepted == set(jobs), "no accepted job is lost, and none was made without being told"
    for job_id, seen in history.seen.items():
        ends = {each for each in seen if each[0] in FINAL}
        assert len(ends) == 1, f"{job_id} has more or less than one end: {jobs[job_id]}, seen {Counter(seen)}"
        first_end = next(index for index, each in enumerate(seen) if each[0] in FINAL)
        assert all(each[0] in FINAL for each in seen[first_end:]), f"{job_id} left its end: {seen}"
        assert jobs[job_id]["state"]["S"].lower() == seen[-1][0]
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
    assert states["SUCCEEDED"] > 0.7 * JOBS
    assert all(happened.values()), happened
