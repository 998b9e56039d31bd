"""OpenAI's own SDK, unmodified, on an endpoint that starts from zero instances; batches run there too."""

import io
import json
import time
from collections.abc import Mapping

import httpx2
import openai
import pytest
from openai.types.responses import Response

from .conftest import Served
from .test_openai import ASKED, MODEL, sdk
from .test_responses import ASKED as RESPONSE
from .test_responses import checked

ENDED = ("completed", "failed", "expired", "cancelled")  # states of a batch


@pytest.fixture(scope="module")
def asleep(served: Mapping[str, Served]) -> Served:
    return served["asleep"]


def lines_of(api: Served) -> list[str]:
    """Return the lines of a stream as they come over the wire."""
    headers = {"authorization": f"Bearer {api.key}"}
    url, asked = f"{api.url}chat/completions", ASKED | {"stream": True}
    with httpx2.stream("POST", url, headers=headers, json=asked, timeout=300) as answer:
        assert answer.status_code == 200
        return [line for line in answer.iter_lines() if line]


def test_a_model_that_sleeps_is_woken(asleep: Served) -> None:
    """The order matters: the first request finds the model asleep, and the last one finds it awake."""
    with pytest.raises(openai.InternalServerError) as raised:
        sdk(asleep).chat.completions.create(**ASKED)
    assert (raised.value.status_code, raised.value.code) == (503, "model_starting")
    assert int(raised.value.response.headers["retry-after"]) > 0
    first, *others, last = lines_of(asleep)
    assert first == ": the model is starting"
    assert last == "data: [DONE]"
    texts = [json.loads(line.removeprefix("data: ")) for line in others if line.startswith("data: ")]
    assert "".join(choice["delta"].get("content") or "" for each in texts for choice in each["choices"])
    chunks = list(sdk(asleep).chat.completions.create(**ASKED, stream=True))
    assert {chunk.model for chunk in chunks} == {MODEL}
    held = sdk(asleep).chat.completions.create(**ASKED, extra_query={"wait": 240})
    assert held.choices[0].message.content


def test_a_job_answers_a_response_whole_and_streamed(asleep: Served) -> None:
    events = checked(sdk(asleep).responses.create(**RESPONSE, stream=True))
    assert events[-1].response.output_text
    held = sdk(asleep).responses.create(**RESPONSE, extra_query={"wait": 240})
    assert (held.model, held.status) == (MODEL, "incomplete")
    assert held.output_text


def test_a_batch_of_responses_runs_to_its_end(asleep: Served) -> None:
    client = sdk(asleep)
    body = {"model": MODEL, "input": "What is a list?", "max_output_tokens": 6}
    line = {"custom_id": "one", "method": "POST", "url": "/v1/responses", "body": body}
    file = client.files.create(file=("questions.jsonl", io.BytesIO(json.dumps(line).encode())), purpose="batch")
    batch = client.batches.create(input_file_id=file.id, endpoint="/v1/responses", completion_window="24h")
    while (batch := client.batches.retrieve(batch.id)).status not in ENDED:
        time.sleep(0.5)
    assert batch.output_file_id
    (answer,) = map(json.loads, client.files.content(batch.output_file_id).text.splitlines())
    assert Response.model_validate(answer["response"]["body"]).output_text


def test_a_batch_runs_to_its_end(asleep: Served) -> None:
    client = sdk(asleep)
    lines = [
        *({"custom_id": f"q{n}", "method": "POST", "url": "/v1/chat/completions", "body": ASKED} for n in range(5)),
        {"custom_id": "bad", "method": "POST", "url": "/v1/chat/completions", "body": ASKED | {"temperature": -1}},
    ]
    jsonl = "\n".join(map(json.dumps, lines)).encode()
    file = client.files.create(file=("questions.jsonl", io.BytesIO(jsonl)), purpose="batch")
    assert (file.bytes, file.purpose, client.files.retrieve(file.id).id) == (len(jsonl), "batch", file.id)
    assert client.files.content(file.id).read() == jsonl
    batch = client.batches.create(input_file_id=file.id, endpoint="/v1/chat/completions", completion_window="24h")
    while (batch := client.batches.retrieve(batch.id)).status not in ENDED:
        time.sleep(0.5)
    assert batch.status == "completed"
    assert batch.request_counts
    assert (batch.request_counts.completed, batch.request_counts.failed, batch.request_counts.total) == (5, 1, 6)
    assert batch.output_file_id
    assert batch.error_file_id
    answers = [json.loads(line) for line in client.files.content(batch.output_file_id).text.splitlines()]
    assert [each["custom_id"] for each in answers] == [f"q{n}" for n in range(5)]
    assert all(each["response"]["body"]["choices"][0]["message"]["content"] for each in answers)
    (error,) = [json.loads(line) for line in client.files.content(batch.error_file_id).text.splitlines()]
    assert error["custom_id"] == "bad"
    assert batch.id in {each.id for each in client.batches.list()}
    assert client.files.delete(file.id).deleted
    with pytest.raises(openai.NotFoundError):
        client.files.retrieve(file.id)


def test_a_batch_that_is_cancelled_ends(asleep: Served) -> None:
    client = sdk(asleep)
    line = {"custom_id": "q", "method": "POST", "url": "/v1/chat/completions", "body": ASKED}
    file = client.files.create(file=("questions.jsonl", json.dumps(line).encode()), purpose="batch")
    batch = client.batches.create(input_file_id=file.id, endpoint="/v1/chat/completions", completion_window="24h")
    assert client.batches.cancel(batch.id).status in ("cancelling", "cancelled")
