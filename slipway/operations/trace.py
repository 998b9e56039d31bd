"""Shows a trace of AWS X-Ray as a tree: who worked on a request or a job, and for how long."""

import json
import sys
from collections.abc import Iterator, Mapping
from typing import Any

from slipway.stack.deployed_stack import DeployedStack, with_stack

Segment = Mapping[str, Any]


def run(name: str, region: str | None, trace_id: str) -> int:
    """Print the trace. Returns exit status 1 if X-Ray does not have it."""
    return with_stack(name, region, lambda stack: _show(stack, trace_id))


def _show(stack: DeployedStack, trace_id: str) -> int:
    pages = stack.clients("xray").get_paginator("batch_get_traces").paginate(TraceIds=[trace_id])
    segments = [segment for page in pages for trace in page["Traces"] for segment in trace["Segments"]]
    documents = [each for each in (json.loads(segment["Document"]) for segment in segments) if not each.get("inferred")]
    if not documents:
        kept = (
            "it keeps a part of the requests only, for 30 days, and shows a new one after some seconds. "
            f"`slipway logs {stack.name} --trace {trace_id}` shows the lines of every request."
        )
        traces = any(each.get("TracingConfig", {}).get("Mode") == "Active" for each in stack.functions)
        why = kept if traces else f"{stack.name} traces nothing; set operations.tracing: true, and deploy."
        print(f"X-Ray has no trace {trace_id}: {why}", file=sys.stderr)
        return 1
    print(*tree(documents), sep="\n")
    return 0


def tree(segments: list[Segment]) -> Iterator[str]:
    """Yield a line for each segment, below the one that caused it: start, duration, name, and what it tells."""
    known = {each["id"]: each for segment in segments for each in _all(segment)}
    below: dict[str, list[Segment]] = {}
    for each in known.values():
        parent = each.get("parent_id", "")
        below.setdefault(parent if parent in known else "", []).append(each)
    begun = min(each["start_time"] for each in known.values())

    def lines(parent: str, depth: int) -> Iterator[str]:
        for each in sorted(below.get(parent, []), key=lambda segment: segment["start_time"]):
            after, lasted = each["start_time"] - begun, each.get("end_time", each["start_time"]) - each["start_time"]
            yield f"{after:>9.3f} s {lasted:>9.3f} s  {'  ' * depth}{each['name']}{_told(each)}"
            yield from lines(each["id"], depth + 1)

    yield f"{'after':>11} {'for':>11}  "
    yield from lines("", 0)


def _all(segment: Segment, parent: str = "") -> Iterator[Segment]:
    """Yield a segment and those that stand in it, which need not name their parent."""
    yield {"parent_id": parent, **segment}
    for each in segment.get("subsegments", ()):
        yield from _all(each, segment["id"])


def _told(segment: Segment) -> str:
    status = segment.get("http", {}).get("response", {}).get("status")
    told = ({"status": status} if status else {}) | segment.get("annotations", {})
    failed = "  FAILED" if segment.get("fault") or segment.get("error") else ""
    return failed + "".join(f"  {name}={value}" for name, value in told.items())
