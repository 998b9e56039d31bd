"""X-Ray's API on the local cloud: traces are put together, and segments of a wrong form are refused."""

import json
import time
from typing import Any

import pytest
from botocore.exceptions import ClientError

from local_cloud.cloud import LocalCloud
from support.stacks.small_stacks import REGION

ROOT = "1-5759e988-bd862e3fe1be46a99"


def document(number: int, **more: Any) -> dict[str, Any]:
    now = time.time()
    segment = {"name": "chat/v1", "id": f"{number:016x}", "trace_id": f"{ROOT}{number:07x}"}
    return segment | {"start_time": now, "end_time": now + 1} | more


def put(xray: Any, *documents: dict[str, Any]) -> list[dict[str, Any]]:
    answer = xray.put_trace_segments(TraceSegmentDocuments=[json.dumps(each) for each in documents])
    return list(answer["UnprocessedTraceSegments"])


@pytest.fixture
def xray(bare_cloud: LocalCloud) -> Any:
    return bare_cloud.client("xray", region=REGION)


def test_a_subsegment_stands_in_its_segment(xray: Any) -> None:
    segment = document(1)
    sub = document(2, trace_id=segment["trace_id"], parent_id=segment["id"], type="subsegment", name="model")
    assert put(xray, sub, segment) == []
    (trace,) = xray.batch_get_traces(TraceIds=[segment["trace_id"]])["Traces"]
    (found,) = (json.loads(each["Document"]) for each in trace["Segments"])
    assert [each["name"] for each in found["subsegments"]] == ["model"]
    assert segment["trace_id"] in [each["Id"] for each in summaries(xray)]


def summaries(xray: Any) -> list[dict[str, Any]]:
    now = time.time()
    return list(xray.get_trace_summaries(StartTime=now - 60, EndTime=now)["TraceSummaries"])


@pytest.mark.parametrize(
    ("wrong", "problem"),
    [
        ({"trace_id": "1-2-3"}, "trace_id"),
        ({"id": "x"}, "id"),
        ({"name": "chat|v1"}, "name"),
        ({"type": "subsegment", "parent_id": ""}, "parent_id"),
        ({"end_time": 0}, "end_time"),
        ({"namespace": "model"}, "namespace"),
        ({"annotations": {"a-b": 1}}, "annotations"),
        ({"annotations": {"a": [1]}}, "annotations"),
        ({"metadata": {"a": "x" * 65_000}}, "it is larger than 64 kB"),
    ],
)
def test_a_segment_of_a_wrong_form_is_refused(xray: Any, wrong: dict[str, Any], problem: str) -> None:
    (refused,) = put(xray, document(3, **wrong))
    assert refused["Message"] == problem


def test_an_unknown_trace_is_not_there(xray: Any) -> None:
    answer = xray.batch_get_traces(TraceIds=[f"{ROOT}{99:07x}"])
    assert (answer["Traces"], answer["UnprocessedTraceIds"]) == ([], [f"{ROOT}{99:07x}"])


def test_at_most_five_traces_are_read_at_once(xray: Any) -> None:
    with pytest.raises(ClientError, match="InvalidRequestException"):
        xray.batch_get_traces(TraceIds=[f"{ROOT}{number:07x}" for number in range(6)])


def test_at_most_fifty_segments_are_put_at_once(xray: Any) -> None:
    with pytest.raises(ClientError, match="InvalidRequestException"):
        put(xray, *[document(number) for number in range(51)])


def test_a_caller_needs_the_permission(bare_cloud: LocalCloud) -> None:
    other = bare_cloud.create_user("no-xray", [{"Effect": "Allow", "Action": "s3:ListBucket", "Resource": "*"}])
    xray = bare_cloud.client("xray", region=REGION, credentials=other)
    with pytest.raises(ClientError, match="AccessDenied"):
        put(xray, document(4))
