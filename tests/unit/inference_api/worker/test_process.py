"""The process on a machine as systemd runs it, with AWS and the model played by a local server."""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from support.patience import wait_for_event

LAMBDA_SRC = Path(__file__).parents[4] / "lambda_src"


class _Aws(ThreadingHTTPServer):
    """Answers DynamoDB, SQS, the metadata service and the model. beats: the values of each UpdateItem."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.beats: list[Any] = []
        self.asked, self.polled, self.go = threading.Event(), threading.Event(), threading.Event()
        self.knows_machine = True


class _Handler(BaseHTTPRequestHandler):
    server: _Aws

    def do_PUT(self) -> None:
        assert self.path == "/latest/api/token"
        self.server.asked.set()
        if not self.server.knows_machine:
            self.server.go.wait(30)
        self._answer(b"token" if self.headers["X-aws-ec2-metadata-token-ttl-seconds"] else b"")

    def do_GET(self) -> None:
        if self.path == "/latest/meta-data/instance-id":
            assert self.headers["X-aws-ec2-metadata-token"] == "token"
            self._answer(b"i-0123456789abcdef0")
        else:
            self._answer(b"")

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        operation = self.headers["x-amz-target"].partition(".")[2]
        if operation == "UpdateItem":
            self.server.beats.append(request["ExpressionAttributeValues"])
        if operation == "ReceiveMessage":
            self.server.polled.set()
            self.server.go.wait(30)
        self._answer(b"{}")

    def _answer(self, body: bytes) -> None:
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing, so that the tests' output stays readable."""


@pytest.fixture
def aws() -> Iterator[_Aws]:
    with _Aws() as running:
        threading.Thread(target=running.serve_forever, args=(0.01,)).start()
        yield running
        running.go.set()
        running.shutdown()


def begun(aws: _Aws, **more: str) -> subprocess.Popen[bytes]:
    here = f"http://127.0.0.1:{aws.server_port}"
    variables = {
        "PATH": os.defpath,
        "PYTHONPATH": str(LAMBDA_SRC),
        "AWS_REGION": "eu-central-1",
        "AWS_ACCESS_KEY_ID": "AKIAEXAMPLE",
        "AWS_SECRET_ACCESS_KEY": "example",
        "AWS_ENDPOINT_URL": here,
        "AWS_EC2_METADATA_SERVICE_ENDPOINT": f"{here}/",
        "MODEL_PORT": str(aws.server_port),
        "MACHINE_NUMBER": "3",
        "MACHINES": "4",
        "IDLE_MINUTES": "30",
        "STARTUP_TIMEOUT_IN_SECONDS": "900",
        "MAX_BATCH_SIZE": "4",
        "ENDPOINT_NAME": "",
        "ENDPOINT_CONFIGURATION": "",
        "ENDPOINT_URL": "",
        "MODEL_ID": "openai-community/gpt2",
        "ENGINE": "transformers",
        "ENGINE_VERSION": "5",
        "HOSTING_MODE": "ec2",
        "LONGEST_WAIT_IN_SECONDS": "25",
        "MAX_BODY_BYTES": "131072",
        "REQUEST_SCHEMA": json.dumps({"bodies": ["prompt"], "parameters": {}, "model_aliases": []}),
        "DEPLOYMENT_NAME": "gpt2-ec2",
        "JOB_TABLE": "table",
        "JOB_BUCKET": "bucket",
        "JOB_QUEUE_URL": f"{here}/111122223333/jobs",
        "JOB_SETTINGS": json.dumps(
            {
                "deadline_in_seconds": 3600,
                "retention_in_seconds": 3600,
                "invocation_timeout_in_seconds": 900,
                "open_jobs": 10,
                "answer_tokens_per_day": None,
                "max_waiting": 5,
            }
        ),
    }
    return subprocess.Popen([sys.executable, "-P", "-m", "inference_api.worker"], env=variables | more)


def test_it_registers_as_its_instance_and_ends_with_status_0_without_work(
    aws: _Aws, capfd: pytest.CaptureFixture[str]
) -> None:
    aws.go.set()
    with begun(aws, IDLE_MINUTES="0") as process:
        assert process.wait(60) == 0
    states = [beat[":state"]["S"] for beat in aws.beats]
    assert states == ["loading", "idle", "stopping"]
    assert aws.beats[0][":instance_id"] == {"S": "i-0123456789abcdef0"}
    assert aws.beats[1][":mine"] == {"S": "i-0123456789abcdef0"}
    assert '{"machine": 3, "state": "idle"}' in capfd.readouterr().out.splitlines()  # machine/setup.sh waits for it


def test_sigterm_ends_it_with_another_status(aws: _Aws) -> None:
    with begun(aws) as process:
        wait_for_event(aws.polled, "the first poll", process)
        process.send_signal(signal.SIGTERM)
        # The handler runs at once, and the poll goes on until the queue answers.
        aws.go.set()
        assert process.wait(60) == 1
    assert "stopping" not in [beat[":state"]["S"] for beat in aws.beats]


def test_sigterm_before_it_knows_its_machine_powers_nothing_off(aws: _Aws) -> None:
    aws.knows_machine = False
    with begun(aws) as process:
        wait_for_event(aws.asked, "the question for its machine", process)
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 1
