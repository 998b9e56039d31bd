"""`examples/job_client.py` and the snippets of docs/jobs.md against deployed APIs."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any
from uuid import uuid4

import pytest

from examples.job_client import ApiError, JobCancelledError, JobClient, JobFailedError
from local_cloud.api_client import ApiClient
from local_cloud.assembly import Stack
from local_cloud.cloud import LocalCloud
from support.repository import ROOT
from support.stacks.deployed_stacks import Apis, deployed

BODY = {"inputs": "A list is", "parameters": {"max_new_tokens": 3}}
Connect = Callable[[ApiClient], JobClient]


def environment(api: ApiClient) -> dict[str, str]:
    """Return the environment variables with which a user signs."""
    assert api.credentials
    return {
        "AWS_ACCESS_KEY_ID": api.credentials.access_key_id,
        "AWS_SECRET_ACCESS_KEY": api.credentials.secret_access_key,
        "AWS_REGION": api.region,
    }


@pytest.fixture
def connect(monkeypatch: pytest.MonkeyPatch) -> Connect:
    def job_client(api: ApiClient) -> JobClient:
        if api.api_key:
            return JobClient(api.url, api_key=api.api_key)
        for name, value in environment(api).items():
            monkeypatch.setenv(name, value)
        return JobClient(api.url)

    return job_client


def text_of(answer: Any) -> str:
    text: str = (answer[0] if isinstance(answer, list) else answer)["generated_text"]
    return text


@pytest.mark.parametrize("name", ["gpt2", "qwen3-4b", "qwen3-4b-async"])
def test_a_job_is_submitted_waited_for_and_answered(apis: Apis, connect: Connect, name: str) -> None:
    assert text_of(connect(apis(name)).run(BODY, seconds=120))


def test_an_api_key_is_enough(cloud: LocalCloud, stacks: dict[str, Stack], connect: Connect) -> None:
    # A stack of its own, because other tests use up the quota of the shared one.
    api = deployed(cloud, replace(stacks["with-api-key"], name="jobs-by-key"))
    assert text_of(connect(api).run(BODY))


def test_the_shell_gets_the_answer_and_the_same_job_for_the_same_key(apis: Apis) -> None:
    api, key = apis("gpt2"), str(uuid4())
    command = [sys.executable, "examples/job_client.py", api.url, "A list is", "--tokens", "3"]
    first, second = (
        subprocess.run(
            [*command, "--idempotency-key", key],
            cwd=ROOT,
            env=os.environ | environment(api),
            capture_output=True,
            text=True,
            check=True,
        )
        for _ in range(2)
    )
    assert "generated_text" in first.stdout
    assert first.stderr.startswith("job ")
    assert (second.stdout, second.stderr) == (first.stdout, first.stderr)


def test_a_key_stands_for_one_job_and_one_body(apis: Apis, connect: Connect) -> None:
    jobs, key = connect(apis("gpt2")), str(uuid4())
    assert jobs.submit(BODY, key=key)["id"] == jobs.submit(BODY, key=key)["id"]
    assert jobs.submit(BODY)["id"] != jobs.submit(BODY)["id"]
    with pytest.raises(ApiError) as caught:
        jobs.submit({"inputs": "Another"}, key=key)
    assert (caught.value.status, caught.value.code) == (409, "idempotency_key_reused")


def test_a_cancelled_job_is_listed_as_such_and_has_no_answer(apis: Apis, connect: Connect) -> None:
    jobs = connect(apis("slow"))
    submitted = jobs.submit({"inputs": "A list is", "parameters": {"max_new_tokens": 20}})
    assert jobs.cancel(submitted["id"])["status"] == "cancelled"
    assert jobs.cancel(submitted["id"])["status"] == "cancelled"
    assert next(jobs.list())["id"] == submitted["id"]
    with pytest.raises(JobCancelledError):
        jobs.output(jobs.wait(submitted["id"]))


def test_a_refusal_by_the_model_fails_the_job_with_its_message(apis: Apis, connect: Connect) -> None:
    with pytest.raises(JobFailedError) as caught:
        connect(apis("gpt2")).run({"inputs": "word " * 1500})
    assert caught.value.code == "context_length_exceeded"
    assert caught.value.job["error"]["message"].startswith("This model's maximum context length is exceeded: ")


def test_a_list_of_many_jobs_is_read_to_its_end(apis: Apis, connect: Connect) -> None:
    jobs = connect(apis("gpt2"))
    submitted = [jobs.submit(BODY)["id"] for _ in range(3)]
    listed = [job["id"] for job in jobs.list()]
    assert [job_id for job_id in listed if job_id in submitted] == submitted[::-1]
    assert len(set(listed)) == len(listed)


def snippet(language: str) -> str:
    """Return the first snippet of docs/jobs.md in a language."""
    page = (ROOT / "docs" / "jobs.md").read_text()
    return page.partition(f"```{language}\n")[2].partition("```")[0]


def test_the_shell_commands_of_the_documentation_work(apis: Apis) -> None:
    api = apis("gpt2")
    script = re.sub(r"^(call .*?) *(#.*)?$", r"\1; echo", snippet("sh"), flags=re.MULTILINE)
    submitting, _, ending = script.partition("JOB=6f1c...")
    defining = script.partition("BODY=")[0]

    def run(lines: str) -> list[Any]:
        said = subprocess.run(
            ["bash", "-eu", "-c", lines],
            env=os.environ | environment(api) | {"API_URL": api.url, "AWS_SESSION_TOKEN": ""},
            capture_output=True,
            text=True,
            check=True,
        )
        return [json.loads(line) for line in said.stdout.splitlines()]

    first, second = run(submitting)
    waited, listed, cancelled = run(f"{defining}JOB={first['id']}{ending}")
    assert first["id"] == second["id"] == waited["id"] == listed["jobs"][0]["id"]
    assert waited["status"] == "succeeded"
    assert text_of(waited["output"])
    assert cancelled["error"]["code"] == "job_ended"


def test_the_python_lines_of_the_documentation_work(apis: Apis) -> None:
    api = apis("gpt2")
    lines = snippet("python").replace("https://<api id>.execute-api.us-east-1.amazonaws.com/v1/", api.url)
    said = subprocess.run(
        [sys.executable, "-c", lines.replace("report-7", str(uuid4()))],
        cwd=ROOT / "examples",
        env=os.environ | environment(api),
        capture_output=True,
        text=True,
        check=True,
    )
    first, statuses, second = said.stdout.splitlines()
    assert "generated_text" in first
    assert statuses.startswith("['succeeded'")
    assert "generated_text" in second
