"""Reads traces of X-Ray from the local cloud."""

import json
from collections.abc import Iterator
from typing import Any

import requests

from local_cloud.cloud import LocalCloud
from support.patience import wait_for

Segment = dict[str, Any]


def segments_of(cloud: LocalCloud, region: str, trace_id: str) -> list[Segment]:
    """Return the segments of a trace as X-Ray's API gives them, with their subsegments in them."""
    (trace,) = cloud.client("xray", region=region).batch_get_traces(TraceIds=[trace_id])["Traces"]
    return [json.loads(each["Document"]) for each in trace["Segments"]]


def wait_for_segment(cloud: LocalCloud, region: str, trace_id: str, name: str, count: int = 1) -> list[Segment]:
    """Wait until a trace has so many segments of a name, and return the trace. A job ends before they come."""

    def look() -> list[Segment] | None:
        found = segments_of(cloud, region, trace_id)
        return found if sum(each["name"] == name for each in walk(found)) == count else None

    return wait_for(look, f"{name} in {trace_id}")


def walk(segments: list[Segment]) -> Iterator[Segment]:
    """Yield the segments and everything in them."""
    for each in segments:
        yield each
        yield from walk(each.get("subsegments", []))


def everything(cloud: LocalCloud) -> dict[str, list[dict[str, Any]]]:
    """Return all documents of the cloud: those that X-Ray keeps, and those that it has refused."""
    found: dict[str, list[dict[str, Any]]] = requests.get(f"{cloud.url}/_slipway/traces", timeout=30).json()
    return found
