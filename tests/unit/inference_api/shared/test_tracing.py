"""Our own segments: their form, their way to X-Ray, and what they never tell."""

import json
import socket
from collections.abc import Iterator
from typing import Any

import pytest

from inference_api.shared import runtime, settings, tracing
from inference_api.shared.errors import container_error
from inference_api.shared.log import log

ROOT, PARENT = "1-5759e988-bd862e3fe1be46a994272793", "53995c3f42cd8ad8"
OTHER = f"Root=1-5759e988-000000000000000000000001;Parent={PARENT};Sampled"
SECRET = "what the caller wrote"


class XRay:
    """X-Ray's API. calls: the documents of each call."""

    def __init__(self) -> None:
        self.calls: list[list[dict[str, Any]]] = []
        self.fails = False

    def put_trace_segments(self, TraceSegmentDocuments: list[str]) -> None:
        if self.fails:
            raise OSError(SECRET)
        self.calls.append([json.loads(each) for each in TraceSegmentDocuments])


@pytest.fixture
def xray(monkeypatch: pytest.MonkeyPatch) -> Iterator[XRay]:
    """Trace a call that Lambda samples, with X-Ray's API behind it."""
    service = XRay()
    monkeypatch.setenv("TRACING", "on")
    monkeypatch.setenv("DEPLOYMENT_NAME", "chat")
    monkeypatch.setenv("_X_AMZN_TRACE_ID", f"Root={ROOT};Parent={PARENT};Sampled=1;Lineage=1:0")
    monkeypatch.setattr(runtime, "_current", runtime.Runtime(client=lambda name, config: service))
    caches = (settings.traces, tracing._daemon, tracing._client)
    for each in caches:
        each.cache_clear()
    yield service
    if connected := tracing._daemon():
        connected.close()
    for each in caches:
        each.cache_clear()


@pytest.fixture
def daemon(xray: XRay, monkeypatch: pytest.MonkeyPatch) -> Iterator[socket.socket]:
    """X-Ray's daemon, as a socket that takes datagrams."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as listener:
        listener.bind(("127.0.0.1", 0))
        listener.settimeout(10)
        monkeypatch.setenv("AWS_XRAY_DAEMON_ADDRESS", f"127.0.0.1:{listener.getsockname()[1]}")
        yield listener


def received(daemon: socket.socket) -> dict[str, Any]:
    header, _, document = daemon.recv(65_536).partition(b"\n")
    assert json.loads(header) == {"format": "json", "version": 1}
    found: dict[str, Any] = json.loads(document)
    return found


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        (f"Root={ROOT};Parent={PARENT};Sampled=1", (ROOT, PARENT, True)),
        (f"Self=1-67891234-12456789abcdef012345678;Root={ROOT};Parent={PARENT};Sampled=0", (ROOT, PARENT, False)),
        (f"Root={ROOT}", (ROOT, "", False)),
        (f"Root={ROOT};Parent=x;Sampled=1", (ROOT, "", False)),
        (f"Root={ROOT}x;Parent={PARENT};Sampled=1", None),
        (f"Root={ROOT}\n;Parent={PARENT};Sampled=1", None),
        (f"Root={ROOT};Parent={PARENT}{'0' * 10_000};Sampled=1", (ROOT, "", False)),
        (f"Root={SECRET}", None),
        ("", None),
    ],
)
def test_a_header_is_read_as_callers_may_write_it(header: str, expected: object) -> None:
    assert tracing.Trace.read(header) == expected


def test_a_subsegment_goes_to_the_daemon_below_the_functions_segment(daemon: socket.socket) -> None:
    with tracing.subsegment("model", remote=True, attempt=1) as segment:
        segment.note_first_byte()
    found = received(daemon)
    assert (found["trace_id"], found["parent_id"], found["type"]) == (ROOT, PARENT, "subsegment")
    assert (found["name"], found["namespace"]) == ("model", "remote")
    assert found["annotations"].keys() == {"attempt", "first_byte_ms"}
    assert found["start_time"] <= found["end_time"]
    assert "fault" not in found


def test_a_failure_tells_code_and_status_but_none_of_its_words(daemon: socket.socket) -> None:
    segment = tracing.begin("model")
    segment.end(container_error(500, SECRET))
    segment.end(ValueError("ends once"))
    found = received(daemon)
    assert (found["fault"], found["annotations"]) == (True, {"code": "model_error", "status": 502})
    assert SECRET not in json.dumps(found)


def test_a_mistake_of_the_caller_is_no_fault_of_ours(daemon: socket.socket) -> None:
    tracing.begin("model").end(container_error(400, SECRET))
    found = received(daemon)
    assert (found["error"], found["annotations"]["status"]) == (True, 400)
    assert "fault" not in found


def test_an_unknown_exception_tells_its_class_alone(daemon: socket.socket) -> None:
    with pytest.raises(ValueError, match=SECRET), tracing.subsegment("record"):
        raise ValueError(SECRET)
    assert received(daemon)["annotations"] == {"code": "ValueError"}


def test_a_job_whose_call_lambda_does_not_sample_goes_to_the_api_in_one_call(
    xray: XRay, daemon: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("_X_AMZN_TRACE_ID", f"Root={ROOT};Parent={PARENT};Sampled=0")
    with tracing.continued(f"{OTHER}=1", "run_job", job="1"):
        with tracing.subsegment("model"):
            pass
        with tracing.continued(f"{OTHER}=1"), tracing.subsegment("end job"):
            pass
    ((model, end, run),) = xray.calls
    assert (run["name"], run["parent_id"], model["parent_id"], end["parent_id"]) == (
        "chat run_job",
        PARENT,
        run["id"],
        PARENT,
    )
    assert "type" not in run


def test_more_segments_than_a_call_may_have_go_in_several_calls(xray: XRay, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a machine, whose jobs run side by side."""
    monkeypatch.delenv("_X_AMZN_TRACE_ID")
    with tracing.continued(f"{OTHER}=1"):
        for _ in range(101):
            tracing.begin("model").end()
    assert [len(each) for each in xray.calls] == [50, 50, 1]


def test_without_daemon_and_job_a_segment_is_dropped(xray: XRay) -> None:
    tracing.begin("model").end()
    with tracing.continued(f"{OTHER}=1"):
        pass
    assert xray.calls == []


def test_a_job_that_is_not_sampled_sends_nothing(xray: XRay) -> None:
    with tracing.continued(f"{OTHER}=0", "run_job") as _, tracing.subsegment("model") as segment:
        assert segment.header == f"{OTHER}=0", "others go on with it"
    assert xray.calls == []


def test_x_ray_that_fails_costs_nothing(xray: XRay) -> None:
    xray.fails = True
    with tracing.continued(f"{OTHER}=1", "run_job"), tracing.subsegment("model"):
        pass


def test_a_line_of_the_log_has_the_trace_of_its_job(xray: XRay, capsys: pytest.CaptureFixture[str]) -> None:
    log({"a": 1})
    with tracing.continued(f"{OTHER}=0"):
        log({"a": 2})
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line["trace"] for line in lines] == [ROOT, "1-5759e988-000000000000000000000001"]


def test_without_the_setting_nothing_has_a_trace(
    xray: XRay, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("TRACING")
    settings.traces.cache_clear()
    with tracing.continued(f"{OTHER}=1", "run_job"), tracing.subsegment("model") as segment:
        log({"a": 1})
    assert (tracing.trace_id(), segment.header, xray.calls) == (None, "", [])
    assert capsys.readouterr().out == '{"a": 1}\n'
