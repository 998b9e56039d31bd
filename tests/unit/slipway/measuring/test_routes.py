"""Requests of a load test over HTTP, against a server that says what it did."""

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler
from types import SimpleNamespace
from typing import Any

import pytest
from botocore.credentials import Credentials
from botocore.exceptions import ClientError, CredentialRetrievalError

from llm_hosting.stack_label import StackLabel
from slipway.measuring import routes
from slipway.measuring.loads import Stop, closed
from slipway.measuring.prompts import Prompt, Prompts
from slipway.measuring.routes import Chat, Embeddings, Generate, JobsRoute, MeasuredRoute, Responses
from slipway.stack.api import DeployedApi
from support.patience import PATIENCE_IN_SECONDS
from support.stand_ins.loopback_server import LoopbackServer

PROMPT = Prompt("one two", 5)


class Model(LoopbackServer):
    """behave: writes the answer to a POST."""

    def __init__(self) -> None:
        self.behave: Any = lambda handler: None
        self.bodies: list[dict[str, Any]] = []
        model = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                answer(self, 200, {"data": [{"id": "served"}]})

            def do_POST(self) -> None:
                model.bodies.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
                model.behave(self)

            def log_message(self, *_: Any) -> None:
                pass

        super().__init__(Handler)

    def streams(self, *chunks: str, before: Callable[[int], None] = lambda index: None) -> None:
        """The server-sent events. before: called before each event with its index."""

        def behave(handler: BaseHTTPRequestHandler) -> None:
            handler.send_response(200)
            handler.send_header("transfer-encoding", "chunked")
            handler.end_headers()
            for index, chunk in enumerate(chunks):
                before(index)
                data = f"data: {chunk}\n\n".encode()
                handler.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
            handler.wfile.write(b"0\r\n\r\n")

        self.behave = behave


def answer(handler: BaseHTTPRequestHandler, status: int, content: Any) -> None:
    body = json.dumps(content).encode()
    handler.send_response(status)
    handler.send_header("content-length", str(len(body)))
    handler.end_headers()
    handler.wfile.write(body)


def token(text: str) -> str:
    return json.dumps({"choices": [{"delta": {"content": text}}]})


USAGE = json.dumps({"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 3}})


@pytest.fixture
def model() -> Iterator[Model]:
    with Model() as model:
        yield model


def route(model: Model, kind: Any = Chat, credentials: Any = None, **members: Any) -> MeasuredRoute:
    known: dict[str, Any] = {
        "api_url": f"{model.url}/",
        "region": "eu-west-1",
        "outputs": {},
        "bodies": ("inputs",),
        "local_cloud": None,
    }
    stack: Any = SimpleNamespace(**(known | members), label=StackLabel("a", "realtime"))
    made: MeasuredRoute = kind(stack, DeployedApi(stack, credentials or Credentials("key", "secret")))
    return made


def test_a_stream_is_asked_for_and_its_tokens_are_counted(model: Model) -> None:
    model.streams('{"choices": [{"delta": {"role": "assistant"}}]}', token("a"), token("b"), USAGE, "[DONE]")
    found = route(model).ask(PROMPT)
    assert (found.error, found.prompt_tokens, found.answer_tokens) == (None, 9, 3)
    assert found.first_token_in_s is not None
    assert found.last_token_in_s is not None
    (body,) = model.bodies
    assert (body["model"], body["stream"], body["max_tokens"]) == ("served", True, 5)
    assert body["messages"] == [{"role": "user", "content": "one two"}]


def embeddings(stack: Any, api: DeployedApi) -> Embeddings:
    return Embeddings(api, 3)


def test_each_text_of_a_request_of_embeddings_is_another(model: Model) -> None:
    model.behave = lambda handler: answer(handler, 200, {"data": [], "usage": {"prompt_tokens": 9}})
    found = route(model, embeddings).ask(PROMPT)
    assert (found.error, found.prompt_tokens, found.answer_tokens) == (None, 9, 0)
    assert found.last_token_in_s is not None
    assert model.bodies == [{"input": ["0 one two", "1 one two", "2 one two"], "encoding_format": "base64"}]


@pytest.mark.parametrize(("status", "error"), [(429, "429"), (200, "200")])
def test_embeddings_that_are_refused_are_an_error(model: Model, status: int, error: str) -> None:
    model.behave = lambda handler: answer(handler, status, {"error": {"code": "throttled"}})
    assert route(model, embeddings).ask(PROMPT).error == error


@pytest.mark.parametrize(
    ("chunks", "error"),
    [
        ((token("a"),), "cut"),
        ((token("a"), '{"error": {"code": "model_error"}}'), "model_error"),
        ((token("a"), "no json", "[DONE]"), "unreadable"),
    ],
)
def test_a_stream_that_breaks_is_an_error(model: Model, chunks: tuple[str, ...], error: str) -> None:
    model.streams(*chunks)
    assert route(model).ask(PROMPT).error == error


def delta(kind: str) -> str:
    return json.dumps({"type": f"response.{kind}.delta", "delta": "a"})


def ended(status: str, **members: Any) -> str:
    return json.dumps({"type": f"response.{status}", "response": members})


@pytest.mark.parametrize("status", ["completed", "incomplete"])
@pytest.mark.parametrize("kind", ["output_text", "reasoning_text", "reasoning_summary_text"])
def test_a_response_is_asked_for_and_its_tokens_are_counted(model: Model, kind: str, status: str) -> None:
    model.streams(
        '{"type": "response.created"}', delta(kind), ended(status, usage={"input_tokens": 9, "output_tokens": 3})
    )
    found = route(model, Responses).ask(PROMPT)
    assert (found.error, found.prompt_tokens, found.answer_tokens) == (None, 9, 3)
    assert found.first_token_in_s is not None
    assert found.last_token_in_s is not None
    assert model.bodies == [{"model": "served", "stream": True, "input": "one two", "max_output_tokens": 5}]


@pytest.mark.parametrize(
    ("events", "error"),
    [
        ((delta("output_text"),), "cut"),
        ((delta("output_text"), ended("failed", error={"code": "server_error"})), "server_error"),
        ((delta("output_text"), "no json", ended("completed")), "unreadable"),
    ],
)
def test_a_response_that_breaks_is_an_error(model: Model, events: tuple[str, ...], error: str) -> None:
    model.streams(*events)
    assert route(model, Responses).ask(PROMPT).error == error


def test_a_refusal_is_its_status(model: Model) -> None:
    model.behave = lambda handler: answer(handler, 429, {"error": {"code": "throttled"}})
    assert [route(model, kind).ask(PROMPT).error for kind in (Chat, Responses, Generate)] == ["429"] * 3


def test_a_server_that_is_away_is_an_error_of_the_connection() -> None:
    with Model() as model:
        made = route(model, Generate)
    assert made.ask(PROMPT).error == "connection"


@pytest.mark.parametrize("kind", [Chat, Generate])
def test_an_answer_that_is_cut_is_an_error_of_the_connection(model: Model, kind: Any) -> None:
    def behave(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("transfer-encoding", "chunked")
        handler.end_headers()
        handler.wfile.write(b"5\r\ndata:\r\n")
        handler.close_connection = True

    model.behave = behave
    assert route(model, kind).ask(PROMPT).error == "connection"


def test_credentials_that_can_not_be_renewed_and_refusals_by_aws_are_told_apart(model: Model) -> None:
    class Record:
        def get_item(self, **_: Any) -> Any:
            raise ClientError({"Error": {"Code": "ExpiredTokenException"}}, "GetItem")

    class Expired:
        def get_frozen_credentials(self) -> Any:
            raise CredentialRetrievalError(provider="sso", error_msg="expired")

    model.behave = lambda handler: answer(handler, 202, {"id": "a", "status": "succeeded", "output": "b"})
    outputs = {"JobTable": "jobs"}
    assert (
        route(model, JobsRoute, outputs=outputs, clients=lambda _: Record()).ask(PROMPT).error
        == "ExpiredTokenException"
    )
    assert route(model, Generate, Expired()).ask(PROMPT).error == "credentials"


def test_a_whole_answer_is_counted_in_either_form(model: Model) -> None:
    model.behave = lambda handler: answer(handler, 200, {"generated_text": "a", "details": {"generated_tokens": 4}})
    found = route(model, Generate).ask(PROMPT)
    assert (found.error, found.answer_tokens, found.first_token_in_s) == (None, 4, None)
    assert model.bodies == [{"inputs": "one two", "parameters": {"max_new_tokens": 5}}]


def test_half_an_answer_is_an_error(model: Model) -> None:
    def half(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.end_headers()
        handler.wfile.write(b'{"generated_te')
        handler.close_connection = True

    model.behave = half
    assert route(model, Generate).ask(PROMPT).error == "unreadable"


def test_tokens_are_timed_when_they_arrive(model: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    """The server puts the caller's clock forward, the second time after the caller has timed the first token."""
    now, has_timed_the_first = [100.0], threading.Event()

    def monotonic() -> float:
        if now[0] > 100:
            has_timed_the_first.set()
        return now[0]

    def before(index: int) -> None:
        if index == 0:
            now[0] += 0.8
        elif index == 1:
            assert has_timed_the_first.wait(PATIENCE_IN_SECONDS)
            now[0] += 0.4

    monkeypatch.setattr(routes, "time", SimpleNamespace(monotonic=monotonic))
    model.streams(token("a"), token("b"), USAGE, "[DONE]", before=before)
    found = route(model).ask(PROMPT)
    assert [found.first_token_in_s, found.last_token_in_s] == pytest.approx([0.8, 1.2])


def test_each_tenth_request_that_fails_is_counted(model: Model) -> None:
    lock, asked = threading.Lock(), [0]

    def behave(handler: BaseHTTPRequestHandler) -> None:
        with lock:
            asked[0] += 1
            status = 503 if asked[0] % 10 == 0 else 200
        answer(handler, status, {"generated_text": "a"})

    model.behave = behave
    load = closed(route(model, Generate), Prompts("synthetic", 8, 4).drawn(1), 4, 60, Stop(), lambda: None)
    assert [each.error for each in load.answers].count("503") == 6
    assert [each.error for each in load.answers].count(None) == 54
