"""The trace of a request: API Gateway begins it or goes on with the caller's, and so does a function.

Every request is sampled, unless its caller says `Sampled=0`. AWS samples the first of each second and 5 % of the
others.
"""

import json
import re
import secrets
from dataclasses import dataclass, field
from typing import Any

from local_cloud.emulator.core import clock
from local_cloud.emulator.xray import daemon, segments

_GIVEN = re.compile(r"Root=(1-[0-9a-f]{8}-[0-9a-f]{24})(?:;|$)")


def _new_root() -> str:
    return f"1-{int(clock.now()):08x}-{secrets.token_hex(12)}"


@dataclass
class Trace:
    """A place in a trace. segment: the id of the segment of whoever stands there."""

    root: str = field(default_factory=_new_root)
    sampled: bool = True
    segment: str = field(default_factory=lambda: secrets.token_hex(8))

    @property
    def header(self) -> str:
        return f"Root={self.root};Parent={self.segment};Sampled={int(self.sampled)}"


def trace_of_caller(header: str) -> Trace:
    """Return the trace of a request with this `X-Amzn-Trace-Id`."""
    given = _GIVEN.search(header)
    return Trace(given[1] if given else _new_root(), "Sampled=0" not in header)


def record_request(trace: Trace, name: str, started: float, status: int, http: dict[str, Any]) -> None:
    """Keep the segment of a stage of API Gateway, which tells address and client of the caller."""
    failed = {"fault": status >= 500, "error": 400 <= status < 500, "throttle": status == 429}
    _record(
        trace,
        name,
        started,
        origin="AWS::ApiGateway::Stage",
        http=http | {"response": {"status": status}},
        **{flag: True for flag, is_set in failed.items() if is_set},
    )


def record_invocation(config: dict[str, Any], trace: Trace, parent: str, started: float, *, failed: bool) -> None:
    """Keep the segment of a function's invocation, if the function may send it."""
    if trace.sampled and daemon.is_traced(config) and daemon.may_send(config):
        more = ({"parent_id": parent} if parent else {}) | ({"fault": True} if failed else {})
        name, arn = config["FunctionName"], config["FunctionArn"]
        _record(trace, name, started, origin="AWS::Lambda::Function", resource_arn=arn, **more)
    daemon.send_all()


def _record(trace: Trace, name: str, started: float, **more: Any) -> None:
    if trace.sampled:
        times = {"start_time": started, "end_time": max(started, clock.now())}
        segments.keep(json.dumps({"name": name, "id": trace.segment, "trace_id": trace.root, **times, **more}))
