"""Answers and failures of an endpoint; network failures over real sockets."""

import io
import socket
import struct
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace
from typing import Any

import botocore.session
import pytest
from botocore.exceptions import ClientError

from inference_api.http.answer import MAX_RESPONSE_BYTES
from inference_api.model.endpoint_client import EndpointClient, one_call
from inference_api.shared import errors
from inference_api.shared.errors import InvocationError

Script = Callable[[BaseHTTPRequestHandler], None]
BODY = b'{"inputs": "The sea is"}'
CONTAINER_SAYS = "Input validation error: `temperature` must be strictly positive"


class RuntimeFake:
    """Answers every call with one outcome, as botocore's client does, and remembers the calls."""

    def __init__(self, outcome: bytes | ClientError, content_type: str = "application/json") -> None:
        self.outcome = outcome
        self.content_type = content_type
        self.calls: list[dict[str, Any]] = []
        self.closed = 0

    def invoke_endpoint(self, **arguments: Any) -> Any:
        self.calls.append(arguments)
        if isinstance(self.outcome, ClientError):
            raise self.outcome
        return {"Body": io.BytesIO(self.outcome), "ContentType": self.content_type}

    def close(self) -> None:
        self.closed += 1


def client_error(code: str, status: int, **model_error: Any) -> ClientError:
    error = {"Error": {"Code": code, "Message": "arn:aws:sagemaker:us-east-1:111122223333:endpoint/x"}}
    return ClientError(error | {"ResponseMetadata": {"HTTPStatusCode": status}} | model_error, "InvokeEndpoint")


def failure(outcome: ClientError) -> InvocationError:
    with pytest.raises(InvocationError) as caught:
        EndpointClient(RuntimeFake(outcome), "endpoint").invoke(BODY)
    return caught.value


def test_the_model_gets_the_callers_own_bytes() -> None:
    runtime = RuntimeFake(b"[]")
    EndpointClient(runtime, "endpoint").invoke(BODY)
    (call,) = runtime.calls
    assert call == {
        "EndpointName": "endpoint",
        "Body": BODY,
        "ContentType": "application/json",
        "Accept": "application/json",
    }


@pytest.mark.parametrize("status", [400, 413, 422])
def test_a_refusal_by_the_model_is_a_400_with_the_models_text(status: int) -> None:
    error = failure(client_error("ModelError", 424, OriginalStatusCode=status, OriginalMessage=CONTAINER_SAYS))
    assert (error.status, error.code) == (400, "rejected_by_model")
    assert error.message == f"The model refused the request: {CONTAINER_SAYS}"


def test_a_busy_model_is_a_429_with_retry_after() -> None:
    error = failure(client_error("ModelError", 424, OriginalStatusCode=429, OriginalMessage="overloaded"))
    assert (error.status, error.code) == (429, "model_busy")
    assert error.retry_after_in_seconds


@pytest.mark.parametrize("status", [424, 500, 502, 404, None])
def test_a_model_that_fails_is_a_bad_gateway(status: int | None) -> None:
    error = failure(client_error("ModelError", 424, OriginalStatusCode=status, OriginalMessage="CUDA out of memory"))
    assert (error.status, error.code) == (502, "model_error")
    assert error.message.endswith("CUDA out of memory")


def test_the_models_words_are_cut_to_a_kilobyte() -> None:
    error = failure(client_error("ModelError", 424, OriginalStatusCode=400, OriginalMessage=3000 * "é"))
    assert error.message.removeprefix("The model refused the request: ") == 512 * "é"


def test_the_models_words_are_not_logged() -> None:
    error = failure(client_error("ModelError", 424, OriginalStatusCode=400, OriginalMessage=CONTAINER_SAYS))
    assert (str(error), error.cause) == ("rejected_by_model", "container 400")


@pytest.mark.parametrize(
    ("code", "aws_status", "status", "ours"),
    [
        ("ValidationError", 400, 503, "endpoint_not_ready"),
        ("ModelNotReadyException", 429, 503, "endpoint_not_ready"),
        ("ServiceUnavailable", 503, 503, "endpoint_not_ready"),
        ("InternalDependencyException", 530, 503, "endpoint_not_ready"),
        ("InternalFailure", 500, 503, "endpoint_not_ready"),
        ("502", 502, 503, "endpoint_not_ready"),
        ("ThrottlingException", 400, 429, "throttled"),
        ("TooManyRequestsException", 429, 429, "throttled"),
        ("AccessDeniedException", 403, 502, "endpoint_refused"),
        ("ExpiredTokenException", 403, 502, "endpoint_refused"),
    ],
)
def test_errors_of_aws_get_a_status_and_a_code_of_ours(code: str, aws_status: int, status: int, ours: str) -> None:
    error = failure(client_error(code, aws_status))
    assert (error.status, error.code, error.cause) == (status, ours, code)
    assert "arn:aws" not in error.message
    assert (error.retry_after_in_seconds is not None) == (status in (429, 503))


@pytest.mark.parametrize(("idle_seconds", "closed"), [(19, 0), (21, 1)])
def test_a_connection_that_may_have_died_unseen_is_not_used_again(idle_seconds: int, closed: int) -> None:
    times = iter([0, 0, 1, 1 + idle_seconds, 2 + idle_seconds])
    runtime = RuntimeFake(b"[]")
    endpoint = EndpointClient(runtime, "endpoint", clock=lambda: next(times))
    endpoint.invoke(BODY)
    endpoint.invoke(BODY)
    assert runtime.closed == closed


class RuntimeDouble(ThreadingHTTPServer):
    """Counts the requests that reach it, and answers each as the script says."""

    def __init__(self, script: Script) -> None:
        super().__init__(("127.0.0.1", 0), _ScriptedHandler)
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.script = script
        self.requests = 0


class _ScriptedHandler(BaseHTTPRequestHandler):
    server: RuntimeDouble
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        self.server.requests += 1
        self.server.script(self)


@contextmanager
def runtime_that(script: Script) -> Iterator[RuntimeDouble]:
    with RuntimeDouble(script) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,)).start()
        try:
            yield server
        finally:
            server.shutdown()  # else a test that fails leaves a thread that keeps the process alive


@pytest.fixture
def endpoint_on(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., EndpointClient]]:
    """Return a client as the handler makes it, but with a short time to wait for an answer."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIAEXAMPLE")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "example")
    clients: list[Any] = []

    def connect(url: str, read_timeout: float = 60, clock: Callable[[], float] = time.time) -> EndpointClient:
        config = one_call(read_timeout)
        session = botocore.session.Session()
        clients.append(session.create_client("sagemaker-runtime", "us-east-1", endpoint_url=url, config=config))
        return EndpointClient(clients[-1], "endpoint", clock)

    yield connect
    for client in clients:
        client.close()


def hang_up(request: BaseHTTPRequestHandler) -> None:
    request.close_connection = True


def say_nothing(request: BaseHTTPRequestHandler) -> None:
    """The caller gives up first."""


def stop_in_the_middle(request: BaseHTTPRequestHandler) -> None:
    request.wfile.write(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 1000\r\n\r\n[{")


def hang_up_in_the_middle(request: BaseHTTPRequestHandler) -> None:
    stop_in_the_middle(request)
    hang_up(request)


def fail(request: BaseHTTPRequestHandler) -> None:
    request.wfile.write(b"HTTP/1.1 500 Internal Server Error\r\ncontent-length: 0\r\n\r\n")


def answer(request: BaseHTTPRequestHandler) -> None:
    request.wfile.write(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n[]")


@pytest.mark.parametrize(
    ("script", "read_timeout", "status", "code"),
    [
        (hang_up, 60, 503, "endpoint_unreachable"),
        (hang_up_in_the_middle, 60, 503, "endpoint_unreachable"),
        (say_nothing, 3, 504, "model_timeout"),
        (stop_in_the_middle, 3, 504, "model_timeout"),
        (fail, 60, 503, "endpoint_not_ready"),
    ],
)
def test_a_call_is_made_exactly_once(
    endpoint_on: Callable[..., EndpointClient], script: Script, read_timeout: float, status: int, code: str
) -> None:
    with runtime_that(script) as runtime, pytest.raises(InvocationError) as caught:
        endpoint_on(runtime.url, read_timeout).invoke(BODY)
    assert (caught.value.status, caught.value.code, runtime.requests) == (status, code, 1)


def test_a_second_call_after_a_long_pause_is_answered_too(endpoint_on: Callable[..., EndpointClient]) -> None:
    times = iter([0, 0, 1, 1000, 1001])
    with runtime_that(answer) as runtime:
        endpoint = endpoint_on(runtime.url, clock=lambda: next(times))
        assert (endpoint.invoke(BODY).body, endpoint.invoke(BODY).body) == (b"[]", b"[]")


def test_an_endpoint_that_nobody_listens_at_is_not_reachable(endpoint_on: Callable[..., EndpointClient]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    with pytest.raises(InvocationError) as caught:
        endpoint_on(url).invoke(BODY)
    assert (caught.value.status, caught.value.code) == (503, "endpoint_unreachable")


@pytest.mark.parametrize(("given", "waited"), [((25,), 25), ((116,), 65), ((), 65)])
def test_an_answer_is_waited_for_as_long_as_sagemaker_may_take_or_the_caller_waits(
    given: tuple[int, ...], waited: int
) -> None:
    assert (one_call(*given).read_timeout, one_call(*given).connect_timeout) == (waited, 1)


@pytest.mark.parametrize(
    ("error", "ran"),
    [
        (client_error("ThrottlingException", 400), False),
        (client_error("ModelNotReadyException", 429), False),
        (client_error("ValidationError", 400), False),
        (client_error("ServiceUnavailable", 503), False),
        (client_error("AccessDeniedException", 403), False),
        (client_error("ModelError", 424, OriginalStatusCode=429), False),
        (client_error("ModelError", 424, OriginalStatusCode=503), False),
        (client_error("InternalFailure", 500), True),
        (client_error("InternalDependencyException", 530), True),
        (client_error("504", 504), True),
        (client_error("ModelError", 424, OriginalStatusCode=400), True),
        (client_error("ModelError", 424, OriginalStatusCode=500), True),
        (client_error("ModelError", 424, OriginalStatusCode=0), True),
    ],
)
def test_a_worker_learns_whether_the_model_may_have_run(error: ClientError, ran: bool) -> None:
    with pytest.raises(InvocationError) as caught:
        EndpointClient(RuntimeFake(error), "endpoint").invoke(BODY)
    assert caught.value.ran is ran
    assert caught.value.refused is (error.response.get("OriginalStatusCode") == 400)


def test_an_answer_is_unchanged() -> None:
    raw = b"\xff" * (MAX_RESPONSE_BYTES + 1)
    assert EndpointClient(RuntimeFake(raw, "image/png"), "endpoint").invoke(BODY) == (raw, "image/png")


def frame(kind: str, name: str, payload: bytes) -> bytes:
    """Return a message of an event stream (AWS, "Amazon Transcribe: event stream encoding")."""
    headers = b""
    for key, value in ((":message-type", kind), (f":{kind}-type", name)):
        headers += bytes([len(key)]) + key.encode() + b"\x07" + struct.pack(">H", len(value)) + value.encode()
    prelude = struct.pack(">II", 16 + len(headers) + len(payload), len(headers))
    message = prelude + struct.pack(">I", zlib.crc32(prelude)) + headers + payload
    return message + struct.pack(">I", zlib.crc32(message))


def streaming(*messages: bytes, ends: bool = True) -> Script:
    def send(request: BaseHTTPRequestHandler) -> None:
        request.wfile.write(
            b"HTTP/1.1 200 OK\r\ncontent-type: application/vnd.amazon.eventstream\r\ntransfer-encoding: chunked\r\n\r\n"
        )
        for message in messages:
            request.wfile.write(b"%x\r\n%b\r\n" % (len(message), message))
        if ends:
            request.wfile.write(b"0\r\n\r\n")
        else:
            hang_up(request)

    return send


PARTS = frame("event", "PayloadPart", b"\xf0\x9f"), frame("event", "PayloadPart", b"\x98\x80")


def rest_of(stream: AbstractContextManager[Iterator[bytes]]) -> tuple[list[bytes], str | None]:
    """Return the parts, and the code of the error after them."""
    parts: list[bytes] = []
    try:
        with stream as found:
            for part in found:
                parts.append(part)
    except InvocationError as error:
        return parts, error.code
    return parts, None


@pytest.mark.parametrize(
    ("script", "parts", "code"),
    [
        (streaming(*PARTS), 2, None),
        (streaming(*PARTS, frame("exception", "ModelStreamError", b'{"Message": "x"}')), 2, "model_error"),
        (streaming(*PARTS, frame("exception", "InternalStreamFailure", b"{}")), 2, "endpoint_unreachable"),
        (streaming(*PARTS, ends=False), 2, "endpoint_unreachable"),
        (hang_up, 0, "endpoint_unreachable"),
        (fail, 0, "endpoint_not_ready"),
    ],
)
def test_a_stream_gives_its_parts_and_ends_as_it_ended(
    endpoint_on: Callable[..., EndpointClient], script: Script, parts: int, code: str | None
) -> None:
    with runtime_that(script) as runtime:
        assert rest_of(endpoint_on(runtime.url).stream(BODY)) == ([b"\xf0\x9f", b"\x98\x80"][:parts], code)
        assert runtime.requests == 1


def test_a_stream_that_breaks_at_the_limit_of_time_is_a_timeout(endpoint_on: Callable[..., EndpointClient]) -> None:
    times = iter([0, 0, 0, 480, 480])
    with runtime_that(streaming(frame("exception", "ModelStreamError", b"{}"))) as runtime:
        assert rest_of(endpoint_on(runtime.url, clock=lambda: next(times)).stream(BODY))[1] == "model_timeout"


def test_hanging_up_ends_a_read_that_another_thread_waits_in(endpoint_on: Callable[..., EndpointClient]) -> None:
    gone = threading.Event()

    def wait_for_the_caller(request: BaseHTTPRequestHandler) -> None:
        streaming(PARTS[0], ends=False)(request)
        assert request.connection.recv(1) == b""
        gone.set()

    with runtime_that(wait_for_the_caller) as runtime:
        endpoint = endpoint_on(runtime.url)
        ended: list[bytes] = []
        begun = threading.Event()

        def read() -> None:
            with suppress(InvocationError), endpoint.stream(BODY) as stream:
                ended.append(next(stream))
                begun.set()
                ended.append(next(stream))

        reader = threading.Thread(target=read)
        reader.start()
        assert begun.wait(30)
        endpoint.hang_up()
        assert gone.wait(30)
        reader.join(30)
        assert (reader.is_alive(), ended) == (False, [b"\xf0\x9f"])


def test_a_body_goes_to_the_component_of_the_adapter_that_it_asks_for() -> None:
    fake = RuntimeFake(b"{}")
    client = EndpointClient(fake, "chat-ic", component="chat-1a2b", adapters=("legal", "sales"), names=("lmi",))
    for body in (b'{"model": "legal", "prompt": "\xc3\xa9"}', b'{"model": "lmi", "prompt": "a"}', b'{"prompt": "a"}'):
        client.invoke(body)
    assert [each["InferenceComponentName"] for each in fake.calls] == ["chat-1a2b-legal", "chat-1a2b", "chat-1a2b"]
    bodies = [each["Body"] for each in fake.calls]
    assert bodies == [b'{"prompt": "\xc3\xa9"}', b'{"model": "lmi", "prompt": "a"}', b'{"prompt": "a"}']
    assert {each["EndpointName"] for each in fake.calls} == {"chat-ic"}


def test_an_adapter_that_is_gone_is_not_answered_by_the_model() -> None:
    fake = RuntimeFake(b"{}")
    asked: list[str] = []
    waker = SimpleNamespace(demand_copy=lambda: asked.append("a copy"))
    client = EndpointClient(fake, "chat-ic", component="chat-1a2b", adapters=("sales",), names=("lmi",), waker=waker)
    with pytest.raises(InvocationError) as refusal:
        client.invoke(b'{"model": "legal", "prompt": "a"}')
    assert (refusal.value.code, refusal.value.refused, refusal.value.ran) == ("rejected_by_model", True, False)
    assert refusal.value.message == "The model `legal` does not exist; see GET models."
    assert (fake.calls, asked) == ([], []), "it wakes no model either"


def test_without_components_the_engine_gets_every_name() -> None:
    fake = RuntimeFake(b"{}")
    EndpointClient(fake, "chat").invoke(b'{"model": "legal"}')
    assert fake.calls[0]["Body"] == b'{"model": "legal"}'
    assert "InferenceComponentName" not in fake.calls[0]


def no_capacity() -> ClientError:
    error = client_error("ValidationError", 400)
    error.response["Error"]["Message"] = (
        "Inference Component has no capacity to process this request. ApplicationAutoScaling may be in-progress (if "
        "configured) or try to increase the capacity by invoking UpdateInferenceComponentRuntimeConfig API."
    )
    return error


class WakerFake:
    """Remembers what it is asked. `asleep`: whether it knows that no copy runs."""

    def __init__(self, *, asleep: bool = False) -> None:
        self.asleep, self.woken_by = asleep, list[InvocationError]()

    def demand_copy(self) -> None:
        if self.asleep:
            raise errors.copy_starting(60)

    def after_refusal(self, error: InvocationError) -> InvocationError:
        self.woken_by.append(error)
        return errors.copy_starting(300)


def test_a_model_on_a_component_is_called_by_the_components_name() -> None:
    runtime = RuntimeFake(b"[]")
    EndpointClient(runtime, "endpoint", component="component").invoke(BODY)
    (call,) = runtime.calls
    assert (call["EndpointName"], call["InferenceComponentName"]) == ("endpoint", "component")


def test_a_component_without_copies_did_not_run_the_call() -> None:
    error = failure(no_capacity())
    assert (error.code, error.ran, error.cause) == ("endpoint_not_ready", False, errors.NO_CAPACITY)


@pytest.mark.parametrize(
    "refusal", [no_capacity(), client_error("ValidationError", 400), client_error("ServiceUnavailable", 503)]
)
def test_whoever_meets_a_model_asleep_wakes_it_and_counts_no_failure(refusal: ClientError) -> None:
    waker, ends = WakerFake(), list[InvocationError | None]()
    with pytest.raises(InvocationError) as met:
        EndpointClient(RuntimeFake(refusal), "endpoint", on_end=ends.append, waker=waker).invoke(BODY)
    assert (met.value.code, met.value.retry_after_in_seconds) == ("model_starting", 300)
    assert len(waker.woken_by) == 1
    assert [end and (end.failed or end.timed_out) for end in ends] == [False]


@pytest.mark.parametrize("refusal", [client_error("InternalFailure", 500), client_error("ThrottlingException", 400)])
def test_other_failures_wake_nobody(refusal: ClientError) -> None:
    waker = WakerFake()
    with pytest.raises(InvocationError):
        EndpointClient(RuntimeFake(refusal), "endpoint", waker=waker).invoke(BODY)
    assert waker.woken_by == []


def test_a_model_that_is_known_to_sleep_is_not_called() -> None:
    runtime = RuntimeFake(b"[]")
    endpoint = EndpointClient(runtime, "endpoint", waker=WakerFake(asleep=True))
    for ask in (lambda: endpoint.invoke(BODY), lambda: read(endpoint)):
        with pytest.raises(InvocationError):
            ask()
    assert runtime.calls == []


def read(endpoint: EndpointClient) -> None:
    with endpoint.stream(BODY) as parts:
        list(parts)
