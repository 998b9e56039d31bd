"""A stack whose parameter DeployEndpoint is false: requests are refused at once, and no alarm is set off."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from inference_api.handlers import describe_endpoint, describe_machines, generate, generate_by_job, submit_job
from inference_api.model import deployed_engine
from inference_api.shared import errors, runtime
from inference_api.shared.runtime import Runtime
from inference_api.tasks import tend_machines
from support.whole_answers import whole

EVENTS = Path(__file__).parents[3] / "events"
ENVIRONMENT = {
    "ENDPOINT_DEPLOYED": "false",
    "ENDPOINT_NAME": "gpt2-0a1b2c3d",
    "ENDPOINT_CONFIGURATION": "",
    "ENDPOINT_URL": "https://example.com",
    "MODEL_ID": "openai-community/gpt2",
    "ENGINE": "tgi",
    "ENGINE_VERSION": "1.4.0",
    "LONGEST_WAIT_IN_SECONDS": "25",
    "MAX_BODY_BYTES": "131072",
    "REQUEST_SCHEMA": json.dumps({"bodies": ["inputs"], "parameters": {}, "model_aliases": []}),
    "DEPLOYMENT_NAME": "gpt2",
    "JOB_TABLE": "jobs",
    "JOB_BUCKET": "job-files",
    "JOB_QUEUE_URL": "https://example.com/queue",
    "JOB_SETTINGS": json.dumps(
        {
            "retention_in_seconds": 3600,
            "deadline_in_seconds": 600,
            "invocation_timeout_in_seconds": 60,
            "max_waiting": 10,
            "open_jobs": 10,
            "answer_tokens_per_day": 1000,
        }
    ),
    "MACHINES": "1",
    "IDLE_MINUTES": "10",
    "STARTUP_TIMEOUT_IN_SECONDS": "600",
    "MAX_BATCH_SIZE": "4",
}
ROW = {"instance_id": {"S": "i-1"}, "state": {"S": "idle"}, "seen_at": {"N": "1"}, "ready_at": {"N": "1"}}


class Aws:
    """A client of any service, on which only the row of a machine can be read."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    def get_item(self, **_: Any) -> dict[str, Any]:
        return {"Item": ROW}

    def __getattr__(self, operation: str) -> Any:
        if operation != "meta":
            raise AssertionError(f"{operation} was called")
        return self


@pytest.fixture(params=["realtime", "async", "ec2"])
def mode(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    for name, value in (ENVIRONMENT | {"HOSTING_MODE": request.param}).items():
        monkeypatch.setenv(name, value)
    before = runtime.runtime()
    forget()
    runtime.use(Runtime(client=lambda service, config: Aws()))
    yield request.param
    runtime.use(before)
    forget()


def forget() -> None:
    """Forget the objects that the functions make once per process."""
    for name, module in list(sys.modules.items()):
        if name.startswith("inference_api"):
            for each in vars(module).values():
                getattr(each, "cache_clear", lambda: None)()


def ask(handler: Any, event: str = "generate_with_iam") -> tuple[int, dict[str, Any], Any]:
    answer = whole(handler(json.loads((EVENTS / f"{event}.json").read_text()), None))
    return answer["statusCode"], answer["headers"], json.loads(answer["body"])


def test_prompts_are_refused_before_anything_else(mode: str, capsys: pytest.CaptureFixture[str]) -> None:
    for handler in (generate.handler if mode == "realtime" else generate_by_job.handler, submit_job.handler):
        status, headers, body = ask(handler)
        assert (status, body["error"]["code"]) == (503, "endpoint_not_deployed")
        assert "DeployEndpoint" in body["error"]["message"]
        assert "retry-after" not in headers
    assert "_aws" not in capsys.readouterr().out, "no metric"


def test_the_description_says_so(mode: str) -> None:
    module: Any = describe_machines if mode == "ec2" else describe_endpoint
    status, _, body = ask(module.handler, "describe_endpoint")
    assert (status, body["status"], body["model_id"]) == (200, "NotDeployed", "openai-community/gpt2")
    assert body["invocation_url"] is None
    assert body["name"] == ("gpt2" if mode == "ec2" else None)
    assert mode != "ec2" or body["start"] == {"since": None, "usual_seconds": 120}


@pytest.mark.parametrize("mode", ["ec2"], indirect=True)
def test_no_machine_is_missed(mode: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert tend_machines.handler({}, None) == {"started": 0, "stopped": 0}
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("mode", ["realtime"], indirect=True)
def test_a_job_from_before_is_no_failure_of_the_model(mode: str, capsys: pytest.CaptureFixture[str]) -> None:
    deployed_engine.count_call(errors.endpoint_not_ready("ValidationError", ran=False))
    assert capsys.readouterr().out == ""
