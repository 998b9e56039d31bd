"""POST /chat/completions and POST /completions in front of an endpoint that answers at once."""

import json
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest
from botocore.exceptions import ClientError, EventStreamError

from inference_api.http.gateway import Request, streams
from inference_api.http.streaming_runtime import Streamed
from inference_api.model.metered_call import MeteredCall
from inference_api.openai import routes
from inference_api.openai.exchange import read_chat, read_completion
from inference_api.shared.settings import usage_table
from support.patience import wait_for
from support.stand_ins.endpoint_streams import SILENCE
from unit.inference_api.openai.conftest import MODEL, Deploy

CHAT = {"model": MODEL, "messages": [{"role": "user", "content": "Hello"}]}
USAGE = {"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7}


def chunk(content: str, reason: str | None = None) -> dict[str, Any]:
    choice = {"index": 0, "delta": {"content": content}, "finish_reason": reason}
    return {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "lmi", "choices": [choice]}


LINES = [chunk("caf\u00e9 \U0001f600"), chunk(" sea", "stop"), {**chunk(""), "choices": [], "usage": USAGE}]
RAW = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in [*LINES]).encode() + b"\n"
WHOLE = {"id": "c", "object": "chat.completion", "created": 1, "model": "lmi", "usage": USAGE} | {
    "choices": [{"index": 0, "message": {"role": "assistant", "content": "Hi"}, "finish_reason": "stop"}]
}


def at_once(request: Request, meter: MeteredCall, ask: Callable[[], Iterator[bytes]]) -> Iterator[bytes]:
    return ask()


def post(document: Any, *, chat: bool = True) -> Streamed:
    event = {
        "httpMethod": "POST",
        "resource": "/chat/completions" if chat else "/completions",
        "headers": {"content-type": "application/json"},
        "body": document if isinstance(document, str) else json.dumps(document),
        "requestContext": {"requestId": "r", "identity": {"apiKeyId": "k"} if usage_table() else {}},
    }
    return streams(partial(routes.answered, held=at_once, read=read_chat if chat else read_completion))(event, None)


def body(answer: Streamed) -> bytes:
    return b"".join(answer.pieces)


def events(answer: Streamed) -> list[Any]:
    raw = body(answer).decode()
    assert raw.endswith("\n\n")
    return [each.removeprefix("data: ") for each in raw.removesuffix("\n\n").split("\n\n")]


def test_lines_of_lmi_are_events_of_openai(deploy: Deploy, sagemaker: Any) -> None:
    deploy("lmi-vllm")
    client = sagemaker(RAW[:70], RAW[70:71], RAW[71:75], RAW[75:])
    answer = post(CHAT | {"stream": True})
    *found, done = events(answer)
    assert (answer.status, answer.headers["content-type"], done) == (200, "text/event-stream", "[DONE]")
    assert [json.loads(each) for each in found] == [{**line, "model": MODEL} for line in LINES[:2]]
    [(kind, sent)] = client.bodies
    assert (kind, sent["stream"], sent["stream_options"]) == ("stream", True, {"include_usage": True})
    assert "model" not in sent
    assert client.stream.closed


def test_usage_comes_last_where_it_is_asked_for(deploy: Deploy, sagemaker: Any) -> None:
    deploy("lmi-vllm")
    sagemaker(RAW)
    *_, usage, _ = events(post(CHAT | {"stream": True, "stream_options": {"include_usage": True}}))
    assert (json.loads(usage)["choices"], json.loads(usage)["usage"]) == ([], USAGE)


def test_a_whole_answer_comes_through_the_same_call_under_our_name(deploy: Deploy, sagemaker: Any) -> None:
    deploy("lmi-vllm")
    raw = json.dumps(WHOLE).encode()
    client = sagemaker(raw[:9], raw[9:])
    answer = post(CHAT)
    assert (answer.status, answer.headers["content-type"]) == (200, "application/json")
    assert json.loads(body(answer)) == {**WHOLE, "model": MODEL}
    assert client.bodies == [("stream", {"messages": CHAT["messages"]})]


@pytest.mark.parametrize("stream", [True, False])
def test_an_engine_that_does_not_stream_is_asked_once(deploy: Deploy, sagemaker: Any, stream: bool) -> None:
    deploy("huggingface", api={"openai": True})
    client = sagemaker(b'[{"generated_text": "The sea is calm."}]')
    answer = post({"prompt": "The sea", "stream": stream}, chat=False)
    found = [json.loads(events(answer)[0])] if stream else [json.loads(body(answer))]
    assert [(each["object"], each["choices"][0]["text"]) for each in found] == [("text_completion", " is calm.")]
    assert client.bodies == [("invoke", {"inputs": "The sea", "parameters": {}})]


@pytest.mark.parametrize("stream", [True, False])
def test_an_error_before_the_first_byte_is_a_status(deploy: Deploy, sagemaker: Any, stream: bool) -> None:
    deploy("lmi-vllm")
    sagemaker(b'{"error": "Input parsing failed: too long", "code": 424}\n')
    answer = post(CHAT | {"stream": stream})
    error = json.loads(body(answer))["error"]
    assert (answer.status, error["code"], error["type"]) == (400, "rejected_by_model", "invalid_request_error")
    assert "too long" in error["message"]


def test_a_refusal_of_sagemaker_is_a_status(deploy: Deploy, sagemaker: Any) -> None:
    deploy("lmi-vllm")
    refused = {"Error": {"Code": "ModelNotReadyException"}, "ResponseMetadata": {"HTTPStatusCode": 429}}
    sagemaker(refusal=ClientError(refused, "InvokeEndpointWithResponseStream"))
    answer = post(CHAT | {"stream": True})
    assert (answer.status, json.loads(body(answer))["error"]["code"]) == (503, "endpoint_not_ready")


@pytest.mark.parametrize(
    "end",
    [
        b'{"error": "CUDA out of memory", "code": 424}\n',
        b'{"choices": [{"index": 0, "del',
        b"",
        EventStreamError({"Error": {"Code": "ModelStreamError"}}, "InvokeEndpointWithResponseStream"),
    ],
    ids=["in words", "in a value", "silently", "by SageMaker"],
)
def test_an_error_after_the_first_byte_is_the_last_event(deploy: Deploy, sagemaker: Any, end: Any) -> None:
    deploy("lmi-vllm")
    sagemaker(json.dumps(LINES[0]).encode() + b"\n", end)
    first, last = events(post(CHAT | {"stream": True}))
    assert json.loads(first)["choices"][0]["delta"] == LINES[0]["choices"][0]["delta"]
    error = json.loads(last)["error"]
    assert (error["code"], error["type"]) == ("model_error", "server_error")


def test_an_answer_without_end_does_not_fill_the_memory(deploy: Deploy, sagemaker: Any) -> None:
    deploy("lmi-vllm")
    sagemaker(*[b" " * 1_000_000] * 7)
    answer = post(CHAT)
    assert (answer.status, json.loads(body(answer))["error"]["code"]) == (502, "answer_too_large")


def test_a_refused_body_costs_no_call(deploy: Deploy, sagemaker: Any) -> None:
    deploy("lmi-vllm")
    client = sagemaker()
    answer = post(CHAT | {"model": "gpt-9"})
    assert (answer.status, json.loads(body(answer))["error"]["param"], client.bodies) == (404, "model", [])


HOSTILE = [
    "",
    "  ",
    "hello",
    '{"messages": NaN}',
    '{"messages": [], "messages": []}',
    '{"messages": ' + "[" * 9 + "]" * 9 + "}",
    '{"tools": ' + "[" * 100_000,
    '["messages"]',
    "{}",
    '{"messages": []}',
    '{"messages": 5}',
    '{"prompt": ""}',
    '{"prompt": "a", "inputs": "b"}',
    '{"prompt": {"a": 1}}',
    '{"prompt": [1, "a"]}',
    '{"prompt": [[]]}',
    '{"prompt": "\\ud800"}',
    '{"prompt": "a", "messages": [{"role": "user"}]}',
    '{"prompt": "a", "max_tokens": ' + "1" * 5000 + "}",
    '{"prompt": "a", "top_p": 1e999}',
]


@pytest.mark.parametrize("raw", HOSTILE, ids=range(len(HOSTILE)))
@pytest.mark.parametrize("chat", [True, False])
def test_a_hostile_body_is_a_400_and_costs_no_call(deploy: Deploy, sagemaker: Any, raw: str, chat: bool) -> None:
    deploy("lmi-vllm")
    client = sagemaker()
    answer = post(raw, chat=chat)
    error = json.loads(body(answer))["error"]
    assert (answer.status, error["type"], client.bodies) == (400, "invalid_request_error", [])
    assert {"code", "message", "param"} <= error.keys()


@pytest.mark.parametrize(
    "rest", [[b'{"error": "CUDA out of memory", "code": 424}\n', RAW], []], ids=["in words", "silently"]
)
def test_an_error_that_is_found_in_the_parts_counts_against_an_update_and_ends_the_read(
    deploy: Deploy, sagemaker: Any, capsys: pytest.CaptureFixture[str], rest: list[bytes]
) -> None:
    deploy("lmi-vllm")
    client = sagemaker(json.dumps(LINES[0]).encode() + b"\n", *rest)
    body(post(CHAT | {"stream": True}))
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line["ModelFailures"] for line in lines if "ModelFailures" in line] == [1]
    assert client.stream.closed


def test_a_caller_who_hangs_up_ends_the_read(deploy: Deploy, sagemaker: Any) -> None:
    deploy("lmi-vllm")
    client = sagemaker(RAW, SILENCE)
    answer = post(CHAT | {"stream": True})
    next(answer.pieces)
    answer.pieces.close()
    wait_for(lambda: client.stream.closed or None, "the end of the read")


@pytest.mark.usefixtures("metered")
def test_a_caller_who_hangs_up_pays_for_what_came_and_has_no_error(deploy: Deploy, sagemaker: Any) -> None:
    deploy("lmi-vllm")
    client = sagemaker(RAW[:-1], SILENCE)
    answer = post(CHAT | {"stream": True})
    next(answer.pieces), next(answer.pieces)
    answer.pieces.close()
    wait_for(lambda: client.counts["tokens_in"] or None, "the count")
    assert client.counts == {"requests": 1, "errors": 0, "tokens_in": 5, "tokens_out": 2}


@pytest.mark.usefixtures("metered")
@pytest.mark.parametrize("stream", [True, False])
def test_a_long_answer_without_figures_is_counted_by_its_length(deploy: Deploy, sagemaker: Any, stream: bool) -> None:
    deploy("huggingface", api={"openai": True})
    client = sagemaker(json.dumps([{"generated_text": "sea " * 1000}]).encode())
    body(post({"prompt": "The sea", "stream": stream}, chat=False))
    assert 1000 <= client.counts["tokens_out"] <= 1010


@pytest.mark.usefixtures("metered")
def test_an_answer_that_is_too_large_to_pass_on_is_paid(deploy: Deploy, sagemaker: Any) -> None:
    deploy("lmi-vllm")
    client = sagemaker(*[b" " * 1_000_000] * 7)
    body(post(CHAT))
    assert (client.counts["errors"], client.counts["tokens_out"]) == (1, 1_750_000)


@pytest.mark.usefixtures("metered")
def test_a_call_that_does_not_begin_is_not_charged(
    deploy: Deploy, sagemaker: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    deploy("lmi-vllm")
    client = sagemaker()
    monkeypatch.setattr(routes, "one_stream", lambda: 1 / 0)  # the client's settings: made at the first call
    assert post(CHAT | {"stream": True}).status == 500
    assert not client.counts
