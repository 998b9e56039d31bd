"""`examples/job_client.py` against a scripted server: which requests it repeats, when, and with which key."""

import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from examples.job_client import (
    ApiError,
    JobCancelledError,
    JobClient,
    JobExpiredError,
    JobFailedError,
    StillRunningError,
    UnavailableError,
)

BODY = {"inputs": "A list is"}
QUEUED = {"id": "a" * 32, "status": "queued"}
DONE = {"id": "a" * 32, "status": "succeeded", "output": {"generated_text": "a list"}}
DROPPED = object()  # the connection ends without an answer


def refusal(code: str) -> dict[str, Any]:
    return {"error": {"code": code, "message": f"about {code}"}}


@dataclass
class Api:
    """A server with scripted answers, (status, body, headers) or DROPPED; it repeats the last one."""

    url: str = ""
    answers: list[Any] = field(default_factory=list)
    asked: list[tuple[str, str, dict[str, str], bytes]] = field(default_factory=list)

    def next_answer(self) -> Any:
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


class Time:
    """A clock that moves only when something sleeps."""

    def __init__(self) -> None:
        self.now, self.slept = 0.0, list[float]()

    def clock(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


@pytest.fixture
def api() -> Iterator[Api]:
    scripted = Api()

    class Handler(BaseHTTPRequestHandler):
        def answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length") or 0))
            headers = {name.lower(): value for name, value in self.headers.items()}
            scripted.asked.append((self.command, self.path, headers, body))
            answer = scripted.next_answer()
            if answer is DROPPED:
                self.close_connection = True
                return
            status, said, more = answer
            data = said if isinstance(said, bytes) else json.dumps(said).encode()
            self.send_response(status)
            for name, value in {"content-type": "application/json", "content-length": str(len(data)), **more}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(data)

        do_GET = do_POST = do_DELETE = answer

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        scripted.url = f"http://127.0.0.1:{server.server_port}/v1"
        yield scripted
        server.shutdown()
        thread.join()


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "*")


@pytest.fixture
def time() -> Time:
    return Time()


@pytest.fixture
def client(api: Api, time: Time) -> JobClient:
    return JobClient(api.url, api_key="secret", clock=time.clock, sleep=time.sleep)


@pytest.mark.parametrize(
    "trouble",
    [
        (429, refusal("throttled"), {}),
        (500, refusal("internal_error"), {}),
        (502, b"<html>bad gateway</html>", {}),
        (503, refusal("overloaded"), {}),
        (504, refusal("gateway_timeout"), {}),
        DROPPED,
    ],
    ids=["429", "500", "502", "503", "504", "dropped"],
)
def test_a_submit_is_sent_again_with_the_same_key_and_the_same_bytes(
    client: JobClient, api: Api, time: Time, trouble: Any
) -> None:
    api.answers = [trouble, trouble, (202, QUEUED, {})]
    assert client.submit(BODY) == QUEUED
    assert len(api.asked) == 3
    assert len({headers["idempotency-key"] for _, _, headers, _ in api.asked}) == 1
    assert {body for _, _, _, body in api.asked} == {json.dumps(BODY).encode()}
    assert {headers["x-api-key"] for _, _, headers, _ in api.asked} == {"secret"}
    assert len(time.slept) == 2


def test_two_submits_are_two_jobs_unless_they_share_a_key(client: JobClient, api: Api) -> None:
    api.answers = [(202, QUEUED, {})]
    for key in (None, None, "mine", "mine"):
        client.submit(BODY, key=key)
    first, second, *named = (headers["idempotency-key"] for _, _, headers, _ in api.asked)
    assert first != second
    assert named == ["mine", "mine"]


def test_a_pause_is_retry_after_plus_jitter(api: Api) -> None:
    pauses = []
    for _ in range(2):
        time = Time()
        client = JobClient(api.url, api_key="secret", clock=time.clock, sleep=time.sleep)
        api.answers = [*[(503, refusal("overloaded"), {"retry-after": "7"})] * 4, (202, QUEUED, {})]
        client.submit(BODY)
        assert all(7 < seconds <= 7 + 4 for seconds in time.slept)
        pauses.append(time.slept)
    assert not set(pauses[0]) & set(pauses[1])


def test_without_retry_after_pauses_grow_to_a_limit(client: JobClient, api: Api, time: Time) -> None:
    api.answers = [(503, b"", {})]
    with pytest.raises(UnavailableError):
        client.submit(BODY)
    assert time.slept[0] <= 0.5
    assert max(time.slept) <= 20
    assert time.slept[-1] > 9
    assert 90 < sum(time.slept) <= 120


@pytest.mark.parametrize(("status", "code"), [(400, "invalid_parameter"), (503, "endpoint_not_deployed")])
def test_a_final_refusal_is_raised_at_once(client: JobClient, api: Api, time: Time, status: int, code: str) -> None:
    api.answers = [(status, refusal(code), {})]
    with pytest.raises(ApiError, match=f"{status} {code}: about {code}") as caught:
        client.submit(BODY)
    assert not isinstance(caught.value, UnavailableError)
    assert (len(api.asked), time.slept) == (1, [])


def test_a_daily_limit_is_raised_at_once(client: JobClient, api: Api, time: Time) -> None:
    api.answers = [(429, refusal("daily_tokens_exceeded"), {"retry-after": "40000"})]
    with pytest.raises(UnavailableError) as caught:
        client.submit(BODY)
    assert (caught.value.status, caught.value.code, time.slept) == (429, "daily_tokens_exceeded", [])


def test_the_error_for_an_unreachable_api_names_the_cause(time: Time) -> None:
    client = JobClient("http://127.0.0.1:9/v1", api_key="secret", clock=time.clock, sleep=time.sleep)
    with pytest.raises(UnavailableError, match=r"0 no_answer: URLError: .*refused"):
        client.get("a" * 32)
    assert len(time.slept) > 5


def test_wait_uses_requests_that_the_api_holds(client: JobClient, api: Api, time: Time) -> None:
    api.answers = [
        (200, QUEUED, {"retry-after": "0"}),  # held to the end
        (200, QUEUED, {"retry-after": "3"}),  # not admitted
        (503, refusal("overloaded"), {}),
        (200, DONE, {}),
    ]
    assert client.wait("a" * 32) == DONE
    assert {path for _, path, _, _ in api.asked} == {f"/v1/jobs/{'a' * 32}?wait=25"}
    assert time.slept[:2] == [0, 3]


def test_wait_ends_after_its_seconds_with_the_open_job(client: JobClient, api: Api, time: Time) -> None:
    api.answers = [(200, QUEUED, {"retry-after": "3"})]
    with pytest.raises(StillRunningError) as caught:
        client.wait("a" * 32, seconds=10)
    assert caught.value.job == QUEUED
    assert time.now <= 10
    holds = [int(path.partition("=")[2]) for _, path, _, _ in api.asked]
    assert holds == [10, 7, 4, 1]


def test_without_hold_the_client_follows_retry_after(api: Api, time: Time) -> None:
    client = JobClient(api.url, api_key="secret", hold=0, clock=time.clock, sleep=time.sleep)
    api.answers = [*[(200, QUEUED, {"retry-after": "30"})] * 3, (200, DONE, {})]
    client.wait("a" * 32)
    assert time.slept == [30, 30, 30]
    assert {path for _, path, _, _ in api.asked} == {f"/v1/jobs/{'a' * 32}?wait=0"}


def test_run_submits_waits_and_returns_the_answer(client: JobClient, api: Api) -> None:
    api.answers = [(202, QUEUED, {}), (200, DONE, {})]
    assert client.run(BODY) == {"generated_text": "a list"}
    assert [(method, path) for method, path, _, _ in api.asked] == [
        ("POST", "/v1/jobs"),
        ("GET", f"/v1/jobs/{'a' * 32}?wait=25"),
    ]


@pytest.mark.parametrize(
    ("content_type", "stored", "answer"),
    [("application/json", b'{"generated_text": "long"}', {"generated_text": "long"}), ("text/plain", b"[1]", "[1]")],
)
def test_a_large_answer_is_fetched_from_s3_without_credentials(
    client: JobClient, api: Api, content_type: str, stored: bytes, answer: Any
) -> None:
    api.answers = [(503, b"slow down", {}), (200, stored, {"content-type": content_type})]
    job = {"id": "a" * 32, "status": "succeeded", "output_url": f"{api.url}/bucket/key?X-Amz-Signature=1"}
    assert client.output(job) == answer
    assert [path for _, path, _, _ in api.asked] == ["/v1/bucket/key?X-Amz-Signature=1"] * 2
    assert not any("x-api-key" in headers or "authorization" in headers for _, _, headers, _ in api.asked)


@pytest.mark.parametrize(
    ("status", "error", "expected"),
    [
        ("failed", {"code": "model_error", "message": "out of memory"}, JobFailedError),
        ("expired", {"code": "deadline_exceeded", "message": "too late"}, JobExpiredError),
        ("cancelled", None, JobCancelledError),
        ("running", None, StillRunningError),
    ],
)
def test_a_job_without_an_answer_is_an_error_that_holds_the_job(
    client: JobClient, status: str, error: dict[str, str] | None, expected: type[Exception]
) -> None:
    job: dict[str, Any] = {"id": "a" * 32, "status": status} | ({"error": error} if error else {})
    with pytest.raises(expected, match=error["message"] if error else status) as caught:
        client.output(job)
    assert caught.value.__dict__["job"] == job
    assert caught.value.__dict__["code"] == (error["code"] if error else None)


def test_a_list_is_read_to_its_last_page_past_empty_ones(client: JobClient, api: Api) -> None:
    api.answers = [
        (200, {"jobs": [QUEUED], "next": "MTc5NQ=="}, {}),
        (200, {"jobs": [], "next": "MTc5NA=="}, {}),
        (200, {"jobs": [DONE], "next": None}, {}),
    ]
    assert list(client.list()) == [QUEUED, DONE]
    assert [path for _, path, _, _ in api.asked] == [
        "/v1/jobs?limit=100",
        "/v1/jobs?limit=100&next=MTc5NQ%3D%3D",
        "/v1/jobs?limit=100&next=MTc5NA%3D%3D",
    ]


def test_a_late_or_repeated_cancel_returns_the_ended_job(client: JobClient, api: Api) -> None:
    api.answers = [DROPPED, (409, refusal("job_ended"), {}), (200, DONE, {})]
    assert client.cancel("a" * 32) == DONE
    assert [method for method, _, _, _ in api.asked] == ["DELETE", "DELETE", "GET"]


def test_a_refused_cancel_is_an_error(client: JobClient, api: Api) -> None:
    api.answers = [(404, refusal("job_not_found"), {}), (200, DONE, {})]
    with pytest.raises(ApiError, match="job_not_found"):
        client.cancel("a" * 32)


@pytest.fixture
def credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    monkeypatch.setenv("AWS_SESSION_TOKEN", "token")


@pytest.mark.usefixtures("credentials")
def test_every_request_is_signed_anew_with_key_and_token(api: Api, time: Time) -> None:
    client = JobClient(api.url, region="eu-west-1", clock=time.clock, sleep=time.sleep)
    api.answers = [(503, b"", {}), (202, QUEUED, {})]
    client.submit(BODY)
    for _, _, headers, _ in api.asked:
        assert "AKIDEXAMPLE/" in headers["authorization"]
        assert "/eu-west-1/execute-api/aws4_request" in headers["authorization"]
        signed = headers["authorization"].partition("SignedHeaders=")[2].partition(",")[0].split(";")
        assert {"host", "idempotency-key", "x-amz-security-token"} <= set(signed)
        assert headers["x-amz-security-token"] == "token"


@pytest.mark.usefixtures("credentials")
@pytest.mark.parametrize(
    ("url", "environment", "region"),
    [
        ("https://abc.execute-api.ap-south-1.amazonaws.com/v1/", {"AWS_REGION": "us-east-1"}, "ap-south-1"),
        ("https://abc.execute-api.cn-north-1.amazonaws.com.cn/v1/", {}, "cn-north-1"),
        ("https://models.example.com/v1/", {"AWS_REGION": "us-east-2"}, "us-east-2"),
        ("https://models.example.com/v1/", {"AWS_DEFAULT_REGION": "us-west-2"}, "us-west-2"),
    ],
)
def test_the_region_is_that_of_the_url_or_of_the_environment(
    monkeypatch: pytest.MonkeyPatch, url: str, environment: dict[str, str], region: str
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    authorize: Callable[..., dict[str, str]] = JobClient(url)._authorize
    assert f"/{region}/execute-api/" in authorize("GET", f"{url}jobs", None, {})["Authorization"]


@pytest.mark.usefixtures("credentials")
def test_without_a_region_the_client_says_what_to_set() -> None:
    with pytest.raises(ValueError, match="set AWS_PROFILE and AWS_REGION"):
        JobClient("https://models.example.com/v1/")
