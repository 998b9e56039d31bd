"""InvokeEndpointWithResponseStream: passes the container's answer on as an event stream while it is produced."""

import http.client
import itertools
import json
import random
import struct
import time
import zlib
from collections.abc import Iterator
from typing import Any

from local_cloud.emulator.core import ministack
from local_cloud.emulator.core.relay import Relay
from local_cloud.emulator.sagemaker.containers.call import OpenAnswer
from local_cloud.emulator.sagemaker.containers.instance import EndpointInstance
from local_cloud.emulator.sagemaker.containers.instance_group import InstanceGroup
from local_cloud.emulator.sagemaker.containers.metrics import NAMESPACE, count_invocation, dimensions_of
from local_cloud.emulator.services import cloudwatch

_responses = ministack.internals("ministack.core.responses", "StreamingResponse")

TIME_LIMIT_IN_SECONDS = 480.0  # for the whole stream
# A fault that a test has ordered: "cut_in_character" is applied here, others by the model server.
FAULT_HEADER = "x-slipway-fault"
_NUMBERS = itertools.count()


class _StreamCutError(Exception):
    """The fault "cut_in_character": the stream ends within a character."""


def pump(opened: OpenAnswer, relay: Relay, group: InstanceGroup, instance: EndpointInstance, fault: str) -> None:
    """Pass on the container's stream to its end, then give the instance back; runs on its own thread."""
    started, failure = opened.started, None
    cut = random.Random(next(_NUMBERS))
    try:
        relay.attach(opened.connection.sock)
        while piece := opened.response.read1():
            for part in _cut(piece, cut):
                if fault.startswith("cut_in_character") and (end := _within_a_character(part)):
                    relay.put(_event("PayloadPart", part[:end]))
                    raise _StreamCutError
                relay.put(_event("PayloadPart", part))
        if opened.response.length:  # read1 notices an early end only in chunked bodies
            raise http.client.IncompleteRead(b"", opened.response.length)
    except _StreamCutError:
        failure = _failure("InternalStreamFailure", {"Message": "Ordered by a test."})
    except (OSError, ValueError, AttributeError, http.client.HTTPException):
        code = "StreamBroken"
        if time.monotonic() - started >= TIME_LIMIT_IN_SECONDS:
            code = "ModelInvocationTimeExceeded"
        failure = _failure("ModelStreamError", {"Message": "The stream of the model ended early.", "ErrorCode": code})
    finally:
        opened.connection.close()
        group.give_back(instance)
        _count(group, opened, is_broken=failure is not None and not relay.is_closed)
    if failure:
        relay.put(failure)
    relay.end()


def _count(group: InstanceGroup, opened: OpenAnswer, *, is_broken: bool) -> None:
    count_invocation(group.spec, opened.response.status, time.monotonic() - opened.started)
    if is_broken:
        cloudwatch.record_metrics(NAMESPACE, dimensions_of(group.spec), {"MidStreamErrors": (1.0, "None")})


def _cut(piece: bytes, cut: random.Random) -> Iterator[bytes]:
    """Cut a piece into up to four parts at arbitrary places, also within its first multi-byte character."""
    ends = [cut.randrange(1, len(piece) + 1) for _ in range(cut.randrange(3))]
    if (end := _within_a_character(piece)) and cut.random() < 0.5:
        ends.append(end)
    for start, end in itertools.pairwise([0, *sorted(ends), len(piece)]):
        if start < end:
            yield piece[start:end]


def _within_a_character(part: bytes) -> int:
    """A position within the first multi-byte character, 0 if there is none."""
    return next((index + 1 for index, byte in enumerate(part) if byte >= 0xC0), 0)


def body(relay: Relay, seconds: float) -> Any:
    """The relay's pieces as a MiniStack body, for at most the time limit of a stream."""

    async def run(send: Any, receive: Any) -> None:
        deadline = time.monotonic() + seconds
        with relay.closed_with(receive) as gone:
            while not gone.done():
                try:
                    piece = await relay.next_piece(deadline - time.monotonic())
                except TimeoutError:
                    # The pump notices the time limit and writes the error.
                    relay.close()
                    deadline = float("inf")
                    continue
                await send({"type": "http.response.body", "body": piece or b"", "more_body": piece is not None})
                if piece is None:
                    return

    return _responses.StreamingResponse(run)


def _failure(kind: str, content: dict[str, str]) -> bytes:
    headers = {":message-type": "exception", ":exception-type": kind, ":content-type": "application/json"}
    return _message(headers, json.dumps(content).encode())


def _event(kind: str, payload: bytes) -> bytes:
    headers = {":message-type": "event", ":event-type": kind, ":content-type": "application/octet-stream"}
    return _message(headers, payload)


def _message(headers: dict[str, str], payload: bytes) -> bytes:
    """Encode a message of AWS's event stream: lengths, their checksum, headers, payload, checksum of everything."""
    encoded = b"".join(
        bytes([len(name)]) + name.encode() + b"\x07" + struct.pack("!H", len(value)) + value.encode()
        for name, value in headers.items()
    )
    prelude = struct.pack("!II", 16 + len(encoded) + len(payload), len(encoded))
    message = prelude + struct.pack("!I", zlib.crc32(prelude)) + encoded + payload
    return message + struct.pack("!I", zlib.crc32(message))
