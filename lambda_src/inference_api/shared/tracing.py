"""Traces in AWS X-Ray: the trace of the current request or job, and our own segments in it.

Segments hold names, times, states and counts, and never texts, keys or callers. Lambda runs X-Ray's daemon in calls
that it samples, and the daemon takes a segment as one datagram (X-Ray Developer Guide, "Sending trace data to X-Ray").
Jobs have a sample of their own: where no daemon runs, and on machines, their segments go to X-Ray's API.
"""

import json
import os
import re
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from functools import cache
from queue import Empty, SimpleQueue
from typing import Any, NamedTuple

from inference_api.shared.settings import traces

_HEADER = re.compile(r"(Root|Parent|Sampled)=([^;]*)")
_ROOT, _PARENT = re.compile(r"1-[0-9a-f]{8}-[0-9a-f]{24}"), re.compile(r"[0-9a-f]{16}")
_DATAGRAM = b'{"format":"json","version":1}\n'
_MOST_IN_A_CALL = 50  # of documents in PutTraceSegments


class Trace(NamedTuple):
    """A place in a trace. root: the trace's id. parent: the segment below which others go. sampled: whether X-Ray
    keeps the trace."""

    root: str
    parent: str
    sampled: bool

    @classmethod
    def read(cls, header: str) -> "Trace | None":
        """Read X-Ray's header. Return None if it holds no id: a caller may choose the id."""
        found = dict(_HEADER.findall(header))
        if not _ROOT.fullmatch(found.get("Root", "")):
            return None
        parent = found.get("Parent", "")
        known = _PARENT.fullmatch(parent) is not None
        return cls(found["Root"], parent if known else "", known and found.get("Sampled") == "1")

    @property
    def header(self) -> str:
        return f"Root={self.root};Parent={self.parent};Sampled={int(self.sampled)}"


_continued: ContextVar[Trace | None] = ContextVar("trace", default=None)


def current_trace() -> Trace | None:
    """Return the trace of the job or batch that is worked on, otherwise that of Lambda's event."""
    if not traces():
        return None
    # Threads of a request start without its context. The variable is the process's, which has one event at a time.
    return _continued.get() or Trace.read(os.environ.get("_X_AMZN_TRACE_ID", ""))


def trace_id() -> str | None:
    """Return the id of the current trace; None if the deployment traces nothing."""
    trace = current_trace()
    return trace and trace.root


def trace_id_of(header: str) -> str | None:
    """Return the id of the trace that a row holds as X-Ray's header; None if it holds none."""
    trace = Trace.read(header)
    return trace and trace.root


class Segment:
    """A segment of our own. It is sent at its end, if the trace is sampled. trace: the place below this segment."""

    def __init__(
        self,
        name: str,
        trace: Trace | None,
        kind: dict[str, str],
        annotations: dict[str, Any],
        since: float | None = None,
    ) -> None:
        self._name, self._kind, self._annotations = name, kind, annotations
        self._parent = trace.parent if trace else ""
        self._started, self._is_open = since or time.time(), trace is not None and trace.sampled
        self.trace = trace._replace(parent=os.urandom(8).hex()) if trace and self._is_open else trace

    @property
    def header(self) -> str:
        """X-Ray's header for work below this segment that others do; empty if nothing is traced."""
        return self.trace.header if self.trace else ""

    @property
    def is_kept(self) -> bool:
        """Whether the segment will be sent. Annotations that take work are only worth it then."""
        return self._is_open

    def note(self, **annotations: str | float | bool | None) -> None:
        """Add annotations. X-Ray finds traces by them."""
        if self._is_open:
            self._annotations |= annotations

    def note_first_byte(self) -> None:
        """Note the time to the first byte, unless that is done."""
        if "first_byte_ms" not in self._annotations:
            self.note(first_byte_ms=round(1000 * (time.time() - self._started)))

    def end(self, error: BaseException | None = None) -> None:
        """Send the segment; later calls do nothing. error: only its code or class, and its status, are sent."""
        if not self._is_open or self.trace is None:
            return
        self._is_open = False
        failed = {}
        if error is not None:
            code, status = getattr(error, "code", None) or type(error).__name__, getattr(error, "status", None)
            self._annotations |= {"code": code, "status": status}
            # As X-Ray counts: `error` is a mistake of the caller.
            failed = {"error" if status and status < 500 else "fault": True}
        document = {
            "name": self._name,
            "id": self.trace.parent,
            "trace_id": self.trace.root,
            "parent_id": self._parent,
            "start_time": self._started,
            "end_time": time.time(),
            "annotations": {name: value for name, value in self._annotations.items() if value is not None},
            **self._kind,
            **failed,
        }
        with suppress(Exception):  # a lost segment must cost no answer
            _send(json.dumps(document))


UNTRACED = Segment("", None, {}, {})


def begin(name: str, *, remote: bool = False, since: float | None = None, **annotations: Any) -> Segment:
    """Begin a subsegment below the current one; the caller ends it.

    remote: of a call of another service. since: when it began, in seconds since the epoch; None = now.
    """
    kind = {"type": "subsegment"} | ({"namespace": "remote"} if remote else {})
    return Segment(name, current_trace(), kind, annotations, since)


@contextmanager
def subsegment(name: str, *, remote: bool = False, **annotations: Any) -> Iterator[Segment]:
    """Record a block as a subsegment."""
    segment = begin(name, remote=remote, **annotations)
    try:
        yield segment
    except BaseException as error:
        segment.end(error)
        raise
    segment.end()


@contextmanager
def continued(header: str, name: str | None = None, **annotations: Any) -> Iterator[None]:
    """Go on with the trace that a row holds; without one nothing changes. No generator may hold this block open.

    name: of a segment that records the block; None = no segment.
    """
    trace = Trace.read(header) if traces() else None
    if trace is None:
        yield
        return
    segment = Segment(f"{os.environ.get('DEPLOYMENT_NAME', '')} {name}", trace, {}, annotations) if name else None
    token = _continued.set(segment.trace if segment else trace)
    error: BaseException | None = None
    try:
        yield
    except BaseException as raised:
        error = raised
        raise
    finally:
        if segment:
            segment.end(error)
        _continued.reset(token)
        if _continued.get() is None:
            with suppress(Exception):
                _send_pending()


def _send(text: str) -> None:
    """Send a document by the daemon, which runs in calls that Lambda samples; otherwise at the end of its job."""
    own = Trace.read(os.environ.get("_X_AMZN_TRACE_ID", ""))
    if own and own.sampled and (daemon := _daemon()):
        daemon.send(_DATAGRAM + text.encode())
    elif _continued.get():
        _pending.put(text)


@cache
def _daemon() -> socket.socket | None:
    host, _, port = os.environ.get("AWS_XRAY_DAEMON_ADDRESS", "").rpartition(":")
    if not host:
        return None
    daemon = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    daemon.setblocking(False)
    daemon.connect((host, int(port)))
    return daemon


_pending: SimpleQueue[str] = SimpleQueue()


def _send_pending() -> None:
    documents = []
    with suppress(Empty):
        while True:
            documents.append(_pending.get_nowait())
    for first in range(0, len(documents), _MOST_IN_A_CALL):
        _client().put_trace_segments(TraceSegmentDocuments=documents[first : first + _MOST_IN_A_CALL])


@cache
def _client() -> Any:
    from inference_api.shared.runtime import ONE_QUICK_ATTEMPT, runtime  # few functions ever need it

    return runtime().client("xray", ONE_QUICK_ATTEMPT)
