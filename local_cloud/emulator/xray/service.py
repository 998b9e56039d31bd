"""X-Ray's API: PutTraceSegments, BatchGetTraces and GetTraceSummaries without filters."""

import json
from collections.abc import Callable
from typing import Any

from local_cloud.emulator.core import ministack
from local_cloud.emulator.core.routing import register_service
from local_cloud.emulator.xray import daemon, segments

_MOST_TRACES = 5  # in one BatchGetTraces
_MOST_SEGMENTS = 50  # in one PutTraceSegments, as clients of AWS say; its reference names no limit


def _put(request: dict[str, Any]) -> dict[str, Any]:
    documents = request["TraceSegmentDocuments"]
    if len(documents) > _MOST_SEGMENTS:
        raise ValueError(f"At most {_MOST_SEGMENTS} segments may be put at once.")
    problems = map(segments.keep, documents)
    return {"UnprocessedTraceSegments": [{"ErrorCode": "ParseError", "Message": each} for each in problems if each]}


def _get(request: dict[str, Any]) -> dict[str, Any]:
    wanted = request["TraceIds"]
    if len(wanted) > _MOST_TRACES:
        raise ValueError(f"At most {_MOST_TRACES} traces may be asked for at once.")
    found = {trace_id: segments.trace(trace_id) for trace_id in wanted}
    return {
        "Traces": [each for each in found.values() if each],
        "UnprocessedTraceIds": [trace_id for trace_id, each in found.items() if not each],
    }


def _summaries(request: dict[str, Any]) -> dict[str, Any]:
    if request.get("FilterExpression"):
        raise ValueError("The local cloud takes no filter expression.")
    return {"TraceSummaries": [{"Id": each} for each in segments.trace_ids()], "TracesProcessedCount": 1}


_OPERATIONS: dict[str, tuple[str, Callable[[dict[str, Any]], dict[str, Any]]]] = {
    "/TraceSegments": ("PutTraceSegments", _put),
    "/Traces": ("BatchGetTraces", _get),
    "/TraceSummaries": ("GetTraceSummaries", _summaries),
}


async def _handle(
    method: str, path: str, headers: dict[str, str], body: bytes, query: dict[str, Any]
) -> ministack.Answer:
    daemon.send_all()
    try:
        content = _OPERATIONS[path][1](json.loads(body or b"{}"))
    except ValueError as error:
        return 400, {"x-amzn-errortype": "InvalidRequestException"}, json.dumps({"Message": str(error)}).encode()
    return 200, {"Content-Type": "application/json"}, json.dumps(content).encode()


def _authorize(headers: dict[str, str], path: str, body: bytes) -> tuple[str, str]:
    return f"xray:{_OPERATIONS[path][0]}", "*"


def _everything() -> dict[str, Any]:
    daemon.send_all()
    return segments.everything()


def install() -> None:
    daemon.install()
    register_service("xray", _handle, authorize=_authorize, path="|".join(f"{path}$" for path in _OPERATIONS))
    ministack.register_view("/_slipway/traces", _everything)
