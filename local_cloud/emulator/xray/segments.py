"""Segments by account and region: each is checked as X-Ray's developer guide asks, and put into its trace."""

import json
import re
from typing import Any

from local_cloud.emulator.core import ministack

_MOST_BYTES = 64_000
_TRACE_ID, _ID = re.compile(r"1-[0-9a-f]{8}-[0-9a-f]{24}"), re.compile(r"[0-9a-f]{16}")
_NAME = re.compile(r"[\w\s.:/%&#=+\\@-]{1,200}")
_ANNOTATION = re.compile(r"[A-Za-z0-9_]{1,500}")

# Segments by the id of their trace, and what was refused, for tests.
_traces: Any = ministack.scoped_store()
refused: list[dict[str, str]] = []


def keep(text: str) -> str:
    """Keep a segment. Return why it is refused; empty = it is kept."""
    try:
        document = json.loads(text)
        problem = _problem(document) if len(text.encode()) <= _MOST_BYTES else "it is larger than 64 kB"
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        document, problem = {}, f"{type(error).__name__}: {error}"
    if problem:
        refused.append({"problem": problem, "document": text})
        return problem
    _traces.setdefault(document["trace_id"], {})[document["id"]] = document
    return ""


def _problem(document: dict[str, Any]) -> str:
    is_sub = document.get("type") == "subsegment"
    annotations = document.get("annotations", {})
    checks = {
        "name": _NAME.fullmatch(document["name"]),
        "id": _ID.fullmatch(document["id"]),
        "trace_id": _TRACE_ID.fullmatch(document["trace_id"]),
        "parent_id": _ID.fullmatch(document["parent_id"]) if is_sub or "parent_id" in document else True,
        "start_time": isinstance(document["start_time"], float | int),
        "end_time": document.get("in_progress") or document["start_time"] <= document["end_time"],
        "namespace": document.get("namespace", "aws") in ("aws", "remote"),
        "annotations": all(map(_ANNOTATION.fullmatch, annotations))
        and all(isinstance(value, str | int | float | bool) for value in annotations.values()),
    }
    return ", ".join(name for name, is_right in checks.items() if not is_right)


def trace(trace_id: str) -> dict[str, Any] | None:
    """Return a trace as BatchGetTraces does: subsegments stand in the segments to which they belong."""
    documents = {each["id"]: dict(each) for each in _traces.get(trace_id, {}).values()}
    if not documents:
        return None
    segments = []
    for each in sorted(documents.values(), key=lambda document: document["start_time"]):
        parent = documents.get(each.get("parent_id", ""))
        if each.get("type") == "subsegment" and parent:
            parent.setdefault("subsegments", []).append(each)
        else:
            segments.append(each)
    start = min(each["start_time"] for each in documents.values())
    end = max(each.get("end_time") or start for each in documents.values())
    return {
        "Id": trace_id,
        "Duration": round(end - start, 3),
        "LimitExceeded": False,
        "Segments": [{"Id": each["id"], "Document": json.dumps(each)} for each in segments],
    }


def trace_ids() -> list[str]:
    """Return the ids of all traces of this account and region."""
    return list(_traces)


def everything() -> dict[str, Any]:
    """Return all documents of all accounts and regions, and what was refused."""
    return {"kept": [each for _, _, found in ministack.in_all_scopes(_traces) for each in found.values()]} | {
        "refused": refused
    }
