"""POST /responses in front of an endpoint that answers at once."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from inference_api.http.gateway import Request, streams
from inference_api.http.streaming_runtime import Streamed
from inference_api.model.metered_call import MeteredCall
from inference_api.openai.routes import answered
from inference_api.responses.exchange import read_response
from inference_api.shared import errors
from inference_api.shared.settings import usage_table
from support.hostile_chunks import events_of
from support.patience import wait_for
from support.stand_ins.endpoint_streams import SILENCE
from unit.inference_api.openai.conftest import MODEL, Deploy
from unit.inference_api.openai.test_routes import LINES, RAW, WHOLE

BODY = {"model": MODEL, "input": "Hello", "instructions": "Be short."}
MESSAGES = [{"role": "system", "content": "Be short."}, {"role": "user", "content": "Hello"}]
COMMENT = b": the model is starting\n\n"


def at_once(request: Request, meter: MeteredCall, ask: Callable[[], Iterator[bytes]]) -> Iterator[bytes]:
    return ask()


def after_a_comment(request: Request, meter: MeteredCall, ask: Callable[[], Iterator[bytes]]) -> Iterator[bytes]:
    yield COMMENT
    yield from ask()


def post(document: Any, held: Any = at_once) -> Streamed:
    event = {
        "httpMethod": "POST",
        "resource": "/responses",
        "headers": {"content-type": "application/json"},
        "body": json.dumps(document),
        "requestContext": {"requestId": "r", "identity": {"apiKeyId": "k"} if usage_table() else {}},
    }
    return streams(lambda request: answered(request, held, read_response))(event, None)


def body(answer: Streamed) -> bytes:
    return b"".join(answer.pieces)


def test_a_stream_of_chunks_is_a_stream_of_events(deploy: Deploy, sagemaker: Any) -> None:
    deploy("lmi-vllm")
    client = sagemaker(RAW[:70], RAW[70:])
    answer = post(BODY | {"stream": True})
    assert (answer.status, answer.headers["content-type"]) == (200, "text/event-stream")
    last = events_of(body(answer))[-1]
    assert last["type"] == "response.completed"
    found = last["response"]
    assert (found["model"], found["store"], found["instructions"]) == (MODEL, False, "Be short.")
    assert found["output"][0]["content"][0]["text"] == "caf\u00e9 \U0001f600 sea"
    assert found["usage"]["total_tokens"] == 7
    [(kind, sent)] = client.bodies
    assert (kind, sent["messages"], sent["stream"]) == ("stream", MESSAGES, True)


def test_a_whole_answer_is_one_response(deploy: Deploy, sagemaker: Any) -> None:
    deploy("lmi-vllm")
    client = sagemaker(json.dumps(WHOLE).encode())
    answer = post(BODY | {"max_output_tokens": 9, "store": True})
    assert (answer.status, answer.headers["content-type"]) == (200, "application/json")
    found = json.loads(body(answer))
    assert (found["object"], found["status"], found["store"]) == ("response", "completed", False)
    assert found["output"][0]["content"][0]["text"] == "Hi"
    assert client.bodies == [("stream", {"messages": MESSAGES, "max_tokens": 9})]


@pytest.mark.parametrize("stream", [True, False])
def test_an_error_before_the_first_event_is_a_status(deploy: Deploy, sagemaker: Any, stream: bool) -> None:
    deploy("lmi-vllm")
    sagemaker(b'{"error": "Input parsing failed: too long", "code": 424}\n')
    answer = post(BODY | {"stream": stream})
    assert (answer.status, json.loads(body(answer))["error"]["code"]) == (400, "rejected_by_model")


def test_an_error_after_the_first_event_fails_the_response(deploy: Deploy, sagemaker: Any) -> None:
    deploy("lmi-vllm")
    sagemaker(json.dumps(LINES[0]).encode() + b"\n", b'{"error": "out of memory", "code": 424}\n')
    *_, last = events_of(body(post(BODY | {"stream": True})))
    assert (last["type"], last["response"]["error"]["code"]) == ("response.failed", "server_error")


def test_an_error_after_a_comment_begins_the_response_and_fails_it(deploy: Deploy, sagemaker: Any) -> None:
    deploy("lmi-vllm")
    sagemaker(b'{"error": "out of memory", "code": 424}\n')
    raw = body(post(BODY | {"stream": True}, after_a_comment))
    assert raw.startswith(COMMENT)
    assert [event["type"] for event in events_of(raw)] == [
        *("response.created", "response.in_progress", "response.failed")
    ]


def test_a_late_error_of_a_whole_answer_is_the_plain_one(deploy: Deploy, sagemaker: Any) -> None:
    deploy("lmi-vllm")
    sagemaker(b"[1]")
    assert json.loads(body(post(BODY)))["error"]["code"] == "model_error"


REFUSED: dict[str, tuple[dict[str, Any], int]] = {
    "temperature": ({"temperature": -1}, 400),
    "model": ({"model": "gpt-5"}, 404),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_refusal_names_the_field_of_the_caller(deploy: Deploy, sagemaker: Any, name: str) -> None:
    deploy("lmi-vllm")
    client = sagemaker(RAW)
    more, status = REFUSED[name]
    answer = post(BODY | more)
    assert (answer.status, json.loads(body(answer))["error"]["param"]) == (status, name)
    assert client.bodies == [], "a refused body costs no call"


def test_a_body_of_the_greatest_size_is_taken(deploy: Deploy) -> None:
    deploy("lmi-vllm")
    turns = [{"role": role, "content": "a"} for _ in range(1900) for role in ("user", "assistant")]
    turns[0]["content"] = "a" * (131_072 - 20 - len(json.dumps({"input": turns}, separators=(",", ":"))))
    raw = json.dumps({"input": turns}, separators=(",", ":")).encode()
    assert 131_000 < len(raw) <= 131_072
    assert read_response(raw, None, None).call.document["messages"] == turns


@pytest.mark.parametrize(
    ("of_chat", "of_body"),
    [
        ("max_tokens", "max_output_tokens"),
        ("reasoning_effort", "reasoning.effort"),
        ("response_format", "text.format"),
        ("messages[1].content[0].image_url.url", "input.content[0].image_url"),
        ("messages[0]", "instructions"),
        ("tools", "tools"),
    ],
)
def test_a_refusal_of_the_chat_is_told_in_the_words_of_the_body(deploy: Deploy, of_chat: str, of_body: str) -> None:
    deploy("lmi-vllm")
    exchange = read_response(json.dumps(BODY).encode(), None, None)
    error = errors.ApiError("invalid_parameter", f"{of_chat}: must be smaller.", field=of_chat)
    told = exchange.in_words_of_caller(error)
    assert (told.field, told.message) == (of_body, f"{of_body}: must be smaller.")


@pytest.mark.usefixtures("metered")
@pytest.mark.parametrize("stream", [True, False])
def test_tokens_are_counted_as_on_chats(deploy: Deploy, sagemaker: Any, stream: bool) -> None:
    deploy("lmi-vllm")
    client = sagemaker(RAW if stream else json.dumps(WHOLE).encode())
    body(post(BODY | {"stream": stream}))
    assert client.counts == {"requests": 1, "errors": 0, "tokens_in": 5, "tokens_out": 2}


@pytest.mark.usefixtures("metered")
def test_a_caller_who_hangs_up_between_two_items_pays_for_what_came(deploy: Deploy, sagemaker: Any) -> None:
    deploy("lmi-vllm")
    thought = {"choices": [{"index": 0, "delta": {"reasoning_content": "So."}, "finish_reason": None}]}
    client = sagemaker(json.dumps(thought).encode() + b"\n", SILENCE)
    answer = post(BODY | {"stream": True})
    assert b"response.reasoning_text.delta" in next(answer.pieces)
    answer.pieces.close()
    wait_for(lambda: client.counts["tokens_out"] or None, "the count")
    assert (client.counts["errors"], client.counts["tokens_out"], client.stream.closed) == (0, 1, True)


HOSTILE: list[Any] = [
    {"choices": [5]},
    {"choices": [None, "x"]},
    {"choices": [{"index": [], "delta": {"content": "a"}}]},
    {"choices": [{"index": 0, "delta": 7, "finish_reason": None}]},
    {"choices": [{"index": 0, "delta": {"content": None, "tool_calls": 3}}], "usage": {"prompt_tokens": "many"}},
    {"choices": [{"index": 0, "delta": {}, "finish_reason": []}]},
    {"choices": [{"message": "Hi"}]},
    {"choices": []},
    [],
    7,
]


@pytest.mark.parametrize("value", HOSTILE)
def test_a_hostile_value_ends_in_an_answer_or_an_error_of_the_model(deploy: Deploy, sagemaker: Any, value: Any) -> None:
    deploy("lmi-vllm")
    sagemaker(*[json.dumps(each).encode() + b"\n" for each in (LINES[0], value, LINES[1])])
    last = events_of(body(post(BODY | {"stream": True})))[-1]
    assert last["type"] in ("response.completed", "response.failed")
    error = last["response"]["error"]
    assert error is None or "internal" not in error["message"]


@pytest.mark.usefixtures("metered")
def test_an_engine_that_counts_nothing_is_counted_by_its_deltas(deploy: Deploy, sagemaker: Any) -> None:
    deploy("lmi-vllm")
    client = sagemaker(*[json.dumps(line).encode() + b"\n" for line in LINES[:2]])
    body(post(BODY | {"stream": True}))
    assert client.counts["tokens_out"] == 2
