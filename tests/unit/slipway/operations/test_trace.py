"""`slipway trace`: pages of X-Ray, and what it says without a trace."""

import json
from types import SimpleNamespace
from typing import Any

import pytest

from slipway.operations.trace import _show

ID = "1-5759e988-bd862e3fe1be46a994272793"


def stack(*pages: list[dict[str, Any]], mode: str = "Active") -> Any:
    """A deployment called chat. pages: the segments in each page of X-Ray's answer."""
    answers = [{"Traces": [{"Segments": [{"Document": json.dumps(each)} for each in page]}]} for page in pages]
    paginator = SimpleNamespace(paginate=lambda TraceIds: answers)
    xray = SimpleNamespace(get_paginator=lambda operation: paginator)
    return SimpleNamespace(name="chat", clients=lambda name: xray, functions=[{"TracingConfig": {"Mode": mode}}])


def test_a_trace_of_several_pages_is_one_tree(capsys: pytest.CaptureFixture[str]) -> None:
    function = {"id": "1", "name": "generate", "start_time": 10.0, "end_time": 12.0}
    model = {"id": "2", "parent_id": "1", "name": "model", "start_time": 11.0, "end_time": 11.5, "error": True}
    assert _show(stack([function], [model | {"annotations": {"status": 400}}]), ID) == 0
    assert capsys.readouterr().out.splitlines()[1:] == [
        "    0.000 s     2.000 s  generate",
        "    1.000 s     0.500 s    model  FAILED  status=400",
    ]


@pytest.mark.parametrize(
    ("mode", "why"), [("Active", "it keeps a part of the requests only"), ("PassThrough", "chat traces nothing; set")]
)
def test_without_a_trace_it_says_why(mode: str, why: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert _show(stack(mode=mode), ID) == 1
    assert f"X-Ray has no trace {ID}: {why}" in capsys.readouterr().err
