"""POST /generate and GET /endpoint: event in, answer out, AWS played by a local server."""

import json
import threading
from base64 import b64encode
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from inference_api.handlers import describe_endpoint, generate
from inference_api.model import deployed_engine
from inference_api.shared import runtime
from inference_api.shared.settings import settings
from support.whole_answers import whole

EVENTS = Path(__file__).parents[3] / "events"
ENVIRONMENT = {
    "ENDPOINT_NAME": "gpt2-0a1b2c3d",
    "ENDPOINT_CONFIGURATION": "configuration-1",
    "ENDPOINT_URL": "https://runtime.sagemaker.us-east-1.amazonaws.com/endpoints/gpt2-0a1b2c3d/invocations",
    "MODEL_ID": "openai-community/gpt2",
    "ENGINE": "tgi",
    "ENGINE_VERSION": "1.4.0",
    "HOSTING_MODE": "realtime",
    "LONGEST_WAIT_IN_SECONDS": "25",
    "MAX_BODY_BYTES": "131072",
    "REQUEST_SCHEMA": json.dumps(
        {"bodies": ["inputs"], "parameters": {"temperature": {"exclusive_minimum": 0}}, "model_aliases": []}
    ),
    "AWS_ACCESS_KEY_ID": "AKIAEXAMPLE",
    "AWS_SECRET_ACCESS_KEY": "example",
    "AWS_DEFAULT_REGION": "us-east-1",
}


class AwsDouble(ThreadingHTTPServer):
    """Answers every request with `status` and `body`. `received` holds path, headers and body of each.

    described: the answer to DescribeEndpoint, if it differs.
    """

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _AwsHandler)
        self.status = 200
        self.body = b'[{"generated_text": "The sea is calm."}]'
        self.headers = {"content-type": "application/json"}
        self.described = b""
        self.received: list[tuple[str, dict[str, str], bytes]] = []


class _AwsHandler(BaseHTTPRequestHandler):
    server: AwsDouble

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        self.server.received.append((self.path, {k.lower(): v for k, v in self.headers.items()}, body))
        is_described = bool(self.server.described) and "x-amz-target" in self.headers
        answer = self.server.described if is_described else self.server.body
        self.send_response(200 if is_described else self.server.status)
        headers = {} if is_described else self.server.headers
        for name, value in (headers | {"content-length": str(len(answer))}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing, so that the tests' output stays readable."""


def generated(event: dict[str, Any], context: Any) -> dict[str, Any]:
    answer: dict[str, Any] = whole(generate.handler(event, context))
    return answer


@pytest.fixture
def aws(monkeypatch: pytest.MonkeyPatch) -> Iterator[AwsDouble]:
    with AwsDouble() as server:
        threading.Thread(target=server.serve_forever, args=(0.01,)).start()
        for name, value in ENVIRONMENT.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{server.server_port}")
        yield server
        for made_once in (
            settings,
            generate.endpoint,
            describe_endpoint.endpoint_status,
            deployed_engine.endpoint_status,
        ):
            made_once.cache_clear()
        server.shutdown()


def event(name: str, **changes: Any) -> dict[str, Any]:
    return dict(json.loads((EVENTS / f"{name}.json").read_text()), **changes)


@pytest.mark.parametrize("name", ["generate_with_iam", "generate_with_api_key"])
def test_the_models_answer_is_the_answer(aws: AwsDouble, name: str) -> None:
    answer = generated(event(name), None)
    assert (answer["statusCode"], answer["body"]) == (200, '[{"generated_text": "The sea is calm."}]')
    assert answer["headers"]["content-type"] == "application/json"


def test_the_endpoint_gets_the_callers_bytes_unchanged(aws: AwsDouble) -> None:
    body = '{ "inputs" : "caf\u00e9 \\u00e9", "parameters": {"temperature": 1.0e0}, "batch_size": 4 }\n'
    generated(event("generate_with_iam", body=body), None)
    ((path, headers, received),) = aws.received
    assert (path, received) == ("/endpoints/gpt2-0a1b2c3d/invocations", body.encode())
    assert (headers["content-type"], headers["accept"]) == ("application/json", "application/json")


def test_a_refused_body_never_reaches_the_endpoint(aws: AwsDouble) -> None:
    aws.body = b'{"EndpointConfigName": "configuration-1", "EndpointStatus": "InService"}'
    answer = generated(event("generate_with_iam", body='{"inputs": "a", "parameters": {"temperature": 0}}'), None)
    assert (answer["statusCode"], json.loads(answer["body"])["error"]["code"]) == (400, "invalid_parameter")
    assert [headers.get("x-amz-target") for _, headers, _ in aws.received] == ["SageMaker.DescribeEndpoint"]


@pytest.mark.parametrize("body", [b'{"inputs": "\xff"}', b"\x80", b'{"inputs": "a"}\x00\xfe'])
def test_bytes_that_are_no_text_are_refused_by_name(aws: AwsDouble, body: bytes) -> None:
    encoded = event("generate_with_iam", body=b64encode(body).decode(), isBase64Encoded=True)
    answer = generated(encoded, None)
    error = json.loads(answer["body"])["error"]
    assert (answer["statusCode"], error["code"], "send it in UTF-8" in error["message"]) == (400, "invalid_json", True)
    assert aws.received == []


def test_sagemakers_wrapping_of_a_models_refusal_is_taken_off(aws: AwsDouble) -> None:
    wrapped = {"OriginalStatusCode": 422, "OriginalMessage": "too many tokens", "LogStreamArn": "arn:aws:logs:x"}
    aws.status, aws.headers = 424, {"x-amzn-errortype": "ModelError"}
    aws.body = json.dumps(wrapped | {"Message": "Received client error (422) from primary"}).encode()
    answer = generated(event("generate_with_iam"), None)
    error: dict[str, Any] = {"code": "rejected_by_model", "message": "The model refused the request: too many tokens"}
    error |= {"type": "invalid_request_error", "param": None}
    assert (answer["statusCode"], json.loads(answer["body"])) == (400, {"error": error})


def test_neither_prompt_nor_answer_is_printed(aws: AwsDouble, capsys: pytest.CaptureFixture[str]) -> None:
    generated(event("generate_with_iam"), None)
    printed = capsys.readouterr().out
    assert "The sea" not in printed
    counted, line = map(json.loads, printed.splitlines())
    assert (counted["ModelFailures"], counted["ModelTimeouts"], line["status"]) == (0, 0, 200)


@pytest.mark.parametrize(
    ("status", "configuration", "counted"),
    [
        (500, "configuration-1", {"ModelFailures": 1, "ModelTimeouts": 0}),
        (500, None, {"ModelFailures": 1, "ModelTimeouts": 0}),  # unknown
        (500, "configuration-0", {}),  # the configuration before the update failed
        (422, "configuration-1", {}),
        (0, "configuration-1", {"ModelTimeouts": 1}),
    ],
)
def test_a_failure_of_the_deployed_model_alone_counts_against_an_update(
    aws: AwsDouble,
    capsys: pytest.CaptureFixture[str],
    status: int,
    configuration: str | None,
    counted: dict[str, int],
) -> None:
    described: dict[str, Any] = {"EndpointConfigName": configuration, "EndpointStatus": "InService"}
    if configuration is None:  # an update whose stage SageMaker leaves out
        described = {"EndpointStatus": "Updating", "PendingDeploymentSummary": {"EndpointConfigName": "new"}}
    aws.status, aws.headers = 424, {"x-amzn-errortype": "ModelError"}
    aws.body = json.dumps({"OriginalStatusCode": status, "Message": "timed out"}).encode()
    aws.described = json.dumps(described).encode()
    generated(event("generate_with_iam"), None)
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    found = [line for line in lines if "ModelTimeouts" in line]
    values = [{name: line[name] for name in line if name.startswith("Model")} for line in found]
    assert values == ([counted] if counted else [])
    assert {line["EndpointConfigName"] for line in found} <= {"configuration-1"}


def test_the_endpoint_describes_itself(aws: AwsDouble) -> None:
    aws.body = (
        b'{"EndpointConfigName": "configuration-1", "EndpointStatus": "InService", "EndpointArn": "arn:aws:sm:x"}'
    )
    answer = describe_endpoint.handler(event("describe_endpoint"), None)
    assert answer["statusCode"] == 200
    assert json.loads(answer["body"]) == {
        "name": "gpt2-0a1b2c3d",
        "invocation_url": "https://runtime.sagemaker.us-east-1.amazonaws.com/endpoints/gpt2-0a1b2c3d/invocations",
        "model_id": "openai-community/gpt2",
        "engine": "tgi",
        "engine_version": "1.4.0",
        "status": "InService",
        "mode": "realtime",
    }


def test_an_endpoint_that_runs_another_configuration_does_not_name_the_deployed_model(aws: AwsDouble) -> None:
    aws.body = b'{"EndpointConfigName": "configuration-0", "EndpointStatus": "Updating"}'
    answer = json.loads(describe_endpoint.handler(event("describe_endpoint"), None)["body"])
    assert [answer[name] for name in ("model_id", "engine", "engine_version")] == [None, None, None]
    assert answer["status"] == "Updating"


def test_a_body_that_only_the_deployed_engine_refuses_reaches_an_endpoint_that_runs_another(aws: AwsDouble) -> None:
    aws.body = b'{"EndpointConfigName": "configuration-0", "EndpointStatus": "Updating"}'
    body = '{"inputs": "a", "parameters": {"temperature": 0}}'
    assert generated(event("generate_with_iam", body=body), None)["statusCode"] == 200
    assert [headers.get("x-amz-target") for _, headers, _ in aws.received] == ["SageMaker.DescribeEndpoint", None]
    assert aws.received[1][2] == body.encode()


def test_an_unknown_engine_version_is_null(aws: AwsDouble, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENGINE_VERSION", "")
    aws.body = b'{"EndpointStatus": "Creating"}'
    answer = describe_endpoint.handler(event("describe_endpoint"), None)
    assert json.loads(answer["body"])["engine_version"] is None


def test_an_endpoint_that_is_not_there_yet_is_being_created_and_not_ready(aws: AwsDouble) -> None:
    aws.status = 400
    aws.body = b'{"__type": "ValidationException", "message": "Could not find endpoint arn:aws:sagemaker:x"}'
    answer = describe_endpoint.handler(event("describe_endpoint"), None)
    assert (answer["statusCode"], json.loads(answer["body"])["status"]) == (200, "Creating")
    aws.headers = {"x-amzn-errortype": "ValidationError"}
    aws.body = b'{"message": "Endpoint gpt2-0a1b2c3d of account 123456789012 not found."}'
    answer = generated(event("generate_with_iam"), None)
    assert (answer["statusCode"], json.loads(answer["body"])["error"]["code"]) == (503, "endpoint_not_ready")
    assert answer["headers"]["retry-after"] == "10"
    assert "123456789012" not in answer["body"]


def test_an_endpoint_that_cannot_be_described_is_a_503_with_retry_after(aws: AwsDouble) -> None:
    aws.status = 400
    aws.body = b'{"__type": "AccessDeniedException", "message": "not allowed on arn:aws:sagemaker:x"}'
    answer = describe_endpoint.handler(event("describe_endpoint"), None)
    assert (answer["statusCode"], json.loads(answer["body"])["error"]["code"]) == (503, "status_unknown")
    assert answer["headers"]["retry-after"] == "5"
    assert "arn:aws" not in answer["body"]


@pytest.mark.parametrize(("seconds", "status", "tries"), [(4, 503, 0), (10, 200, 1)])
def test_a_call_that_could_outlast_the_function_is_not_begun(
    aws: AwsDouble, seconds: int, status: int, tries: int
) -> None:
    aws.body = b'{"EndpointStatus": "InService"}'
    context = SimpleNamespace(get_remaining_time_in_millis=lambda: 1000 * seconds)
    answer = describe_endpoint.handler(event("describe_endpoint"), context)
    assert (answer["statusCode"], len(aws.received)) == (status, tries)
    if status == 503:
        assert json.loads(answer["body"])["error"]["code"] == "overloaded"
        assert answer["headers"]["retry-after"] == "2"


def test_a_function_without_its_settings_answers_in_our_shape(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("REQUEST_SCHEMA", raising=False)
    answer = generated(event("generate_with_iam"), None)
    assert (answer["statusCode"], json.loads(answer["body"])["error"]["code"]) == (500, "internal_error")


@pytest.mark.parametrize("status", [200, 400])
def test_a_slow_answer_or_failure_leaves_time_to_count_it(
    aws: AwsDouble, monkeypatch: pytest.MonkeyPatch, status: int
) -> None:
    aws.status, aws.body, aws.headers = status, b"{}", {"x-amzn-errortype": "ModelError"}
    limits: list[float] = []
    monkeypatch.setattr(runtime, "_current", replace(runtime.runtime(), answer_before=limits.append))
    generated(event("generate_with_iam"), SimpleNamespace(get_remaining_time_in_millis=lambda: 860_000))
    whole_function, whole_answer, counting = limits
    assert whole_answer < whole_function == counting
