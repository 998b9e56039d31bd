"""The local InvokeEndpointWithResponseStream: parts cut at any place, sent while the model works; broken streams."""

import json
import time
from collections.abc import Iterator
from typing import Any

import pytest
from botocore.exceptions import ClientError, EventStreamError

from local_cloud.cloud import LocalCloud
from support.patience import wait_for
from support.stacks.asynchronous_endpoints import realtime_resources
from support.stacks.ordered_faults import OrderedFaults
from support.stacks.small_stacks import REGION, create, statement

NAME = "streaming-model"
STREAM = "InvokeEndpointWithResponseStream"
CHAT = {"messages": [{"role": "user", "content": "Say 🙂 and 🙃"}], "max_tokens": 6, "stream": True}


@pytest.fixture(scope="module")
def endpoint(bare_cloud: LocalCloud) -> LocalCloud:
    chats = {"HF_MODEL_ID": "Qwen/Qwen3-4B", "SLIPWAY_LOCAL_SECONDS_PER_TOKEN": "0.1"}
    create(bare_cloud, NAME, realtime_resources(NAME, chats))
    return bare_cloud


@pytest.fixture
def faults(bare_cloud: LocalCloud) -> Iterator[OrderedFaults]:
    ordered = OrderedFaults(bare_cloud)
    yield ordered
    ordered.clear()


def call(cloud: LocalCloud, body: Any = CHAT, **client: Any) -> Any:
    runtime = cloud.client("sagemaker-runtime", region=REGION, **client)
    return runtime.invoke_endpoint_with_response_stream(EndpointName=NAME, Body=json.dumps(body).encode())


def read(stream: Any) -> tuple[list[bytes], str]:
    """The parts of a stream, and the code of the error that ended it, otherwise ""."""
    parts: list[bytes] = []
    try:
        for event in stream:
            parts.append(event["PayloadPart"]["Bytes"])
    except EventStreamError as error:
        return parts, error.response["Error"]["Code"]
    finally:
        stream.close()
    return parts, ""


def test_parts_are_cut_anywhere_and_make_the_whole(endpoint: LocalCloud) -> None:
    cut_characters = 0
    for _ in range(8):
        answer = call(endpoint, {**CHAT, "max_tokens": 1})
        parts, error = read(answer["Body"])
        *lines, last, end = b"".join(parts).decode().split("\n")
        assert (answer["ContentType"], error, last, end) == ("application/jsonlines", "", "", "")
        chunks = [json.loads(line) for line in lines]
        assert "".join(each["choices"][0]["delta"].get("content", "") for each in chunks) == "🙂"
        cut_characters += sum(not _is_text(part) for part in parts)
    assert cut_characters


def _is_text(part: bytes) -> bool:
    try:
        return bool(part.decode())
    except UnicodeDecodeError:
        return False


def test_a_part_arrives_while_the_model_still_works(endpoint: LocalCloud) -> None:
    stream, started = call(endpoint)["Body"], time.monotonic()
    next(iter(stream))
    to_first = time.monotonic() - started
    read(stream)
    assert to_first < (time.monotonic() - started) / 2


def test_a_refusal_comes_before_the_stream(endpoint: LocalCloud) -> None:
    with pytest.raises(ClientError) as refused:
        call(endpoint, {**CHAT, "model": "another"})
    assert refused.value.response["Error"]["Code"] == "ModelError"
    assert refused.value.response["OriginalStatusCode"] == 500


def test_a_caller_needs_the_permission_to_stream(endpoint: LocalCloud) -> None:
    user = endpoint.create_user("stranger", [statement("sagemaker:InvokeEndpoint")])
    with pytest.raises(ClientError, match="not authorized to perform: sagemaker:InvokeEndpointWithResponseStream "):
        call(endpoint, credentials=user)


def test_a_stream_is_cut_within_a_character_on_order(endpoint: LocalCloud, faults: OrderedFaults) -> None:
    faults.order("sagemaker-runtime", STREAM, "cut_in_character")
    parts, error = read(call(endpoint)["Body"])
    assert error == "InternalStreamFailure"
    with pytest.raises(UnicodeDecodeError, match="unexpected end of data"):
        b"".join(parts).decode()


def test_an_engine_fails_after_some_tokens_on_order(endpoint: LocalCloud, faults: OrderedFaults) -> None:
    faults.order("sagemaker-runtime", STREAM, "engine_error", tokens=2)
    parts, error = read(call(endpoint)["Body"])
    *chunks, failed = [json.loads(line) for line in b"".join(parts).splitlines() if line]
    assert (error, failed) == ("", {"code": 424, "error": "The engine has failed."})
    assert sum(bool(each["choices"][0]["delta"].get("content")) for each in chunks) == 2


def test_a_caller_who_hangs_up_ends_the_work_of_the_model(endpoint: LocalCloud) -> None:
    stream = call(endpoint, {**CHAT, "max_tokens": 10_000})["Body"]
    next(iter(stream))
    stream.close()

    def gone() -> bool | None:
        answer = endpoint.client("logs", region=REGION).filter_log_events(
            logGroupName=f"/aws/sagemaker/Endpoints/{NAME}", filterPattern='"ended by its caller"'
        )
        return bool(answer["events"]) or None

    wait_for(gone, "the end of the generation")


def test_an_engine_dies_after_some_tokens_on_order(endpoint: LocalCloud, faults: OrderedFaults) -> None:
    faults.order("sagemaker-runtime", STREAM, "engine_exit", tokens=2)
    parts, error = read(call(endpoint)["Body"])
    assert parts
    assert error == "ModelStreamError"
