"""Every event of a response is one of the SDK's own types, whatever the engine has streamed."""

import json
import subprocess
from collections.abc import Iterator

import httpx2
import openai
import pytest
from openai.types.responses import Response, ResponseStreamEvent
from pydantic import TypeAdapter

from .conftest import ROOT

STREAMS = 300
EVENTS: TypeAdapter[ResponseStreamEvent] = TypeAdapter(ResponseStreamEvent)


@pytest.fixture(scope="module")
def streams() -> list[str]:
    """Return the events of many responses to hostile engines, as they go out."""
    command = [str(ROOT / ".venv/bin/python"), "-m", "support.hostile_chunks", str(STREAMS)]
    path = ":".join(str(ROOT / each) for each in ("constructs", "lambda_src", "tests"))
    printed = subprocess.run(command, cwd=ROOT, env={"PYTHONPATH": path}, capture_output=True, text=True, check=True)
    return [json.loads(line) for line in printed.stdout.splitlines()]


def events_of(stream: str) -> Iterator[dict[str, object]]:
    for event in stream.removesuffix("\n\n").split("\n\n"):
        yield json.loads(event.partition("\ndata: ")[2])


def test_each_event_is_of_the_sdks_types(streams: list[str]) -> None:
    assert len(streams) == STREAMS
    seen = set()
    for event in (event for stream in streams for event in events_of(stream)):
        read = EVENTS.validate_python(event)
        assert read.type == event["type"], "the union has chosen the event's own class"
        seen.add(read.type)
    assert len(seen) == 23


def test_the_sdk_adds_up_every_stream_to_the_response_at_its_end(streams: list[str]) -> None:
    for stream in streams:
        *_, last = events_of(stream)
        transport = httpx2.MockTransport(
            lambda _, body=stream: httpx2.Response(200, text=body, headers={"content-type": "text/event-stream"})
        )
        client = openai.OpenAI(api_key="k", base_url="http://api", http_client=httpx2.Client(transport=transport))
        with client.responses.stream(model="m", input="Hi") as events:
            *_, end = events
        assert end.type == last["type"]
        assert Response.model_validate(last["response"]).output_text == end.response.output_text
