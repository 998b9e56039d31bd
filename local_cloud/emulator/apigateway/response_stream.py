"""Streams the answers of STREAM integrations: metadata first, then the body piece by piece."""

import asyncio
import json
import time
from collections.abc import Awaitable, Callable
from typing import Any

from local_cloud.emulator.apigateway.rest_call import RestCall
from local_cloud.emulator.core import ministack
from local_cloud.emulator.core.relay import Relay
from local_cloud.emulator.lambda_.streaming import END_OF_METADATA, URI_SUFFIX, relayed_by

_gateway = ministack.internals("ministack.services.apigateway_v1", "_resources")
_responses = ministack.internals("ministack.core.responses", "StreamingResponse")

MAX_TIMEOUT_MILLISECONDS = 900_000
_IDLE_SECONDS = 300.0  # for a regional or private API
# AWS does not document this limit.
_MAX_METADATA_BYTES = 16 * 1024
_METADATA_KEYS = {"statusCode", "headers", "multiValueHeaders", "cookies"}
# The gateway frames the body itself.
_FRAMING = {"connection", "content-length", "transfer-encoding"}


class MalformedAnswerError(Exception):
    """The function's answer does not begin with metadata."""


class Stream:
    """A function's answer while it is being produced."""

    def __init__(self, call: RestCall, seconds: float, invoke: Callable[[], Awaitable[Any]]) -> None:
        """seconds: the time limit for the whole answer; invoke: runs the function and returns how it ended."""
        self._call = call
        self._started = time.monotonic()
        self._deadline = self._started + seconds
        self._relay = Relay()
        self._first = b""
        with relayed_by(self._relay):
            self.invocation = asyncio.ensure_future(invoke())
        self.invocation.add_done_callback(lambda _: self._relay.end())

    async def begin(self) -> tuple[int, dict[str, Any]] | None:
        """The status and the headers, None if the invocation ends without sending any.

        Raises TimeoutError, MalformedAnswerError.
        """
        try:
            return await self._metadata()
        except (TimeoutError, MalformedAnswerError):
            self._relay.close()
            raise

    async def _metadata(self) -> tuple[int, dict[str, Any]] | None:
        data = b""
        while END_OF_METADATA not in data:
            if len(data) > _MAX_METADATA_BYTES:
                raise MalformedAnswerError
            if (piece := await self._next_piece()) is None:
                if data:
                    raise MalformedAnswerError
                return None
            data += piece
        metadata, _, self._first = data.partition(END_OF_METADATA)
        self._call.milliseconds_to_headers = self._milliseconds()
        return _parsed(metadata)

    async def _next_piece(self) -> bytes | None:
        return await self._relay.next_piece(min(_IDLE_SECONDS, self._deadline - time.monotonic()))

    def _milliseconds(self) -> int:
        return int((time.monotonic() - self._started) * 1000)

    def body(self, at_end: Callable[[], None]) -> Any:
        """The rest of the answer as a MiniStack body; at_end is called before the caller sees the end."""

        async def run(send: Any, receive: Any) -> None:
            is_whole = False
            try:
                with self._relay.closed_with(receive) as gone:
                    async for piece in self._rest():
                        if gone.done():
                            break
                        self._call.response_length += len(piece)
                        await send({"type": "http.response.body", "body": piece, "more_body": True})
                await self.invocation
                is_whole = not self._call.function_failure
            except TimeoutError:
                self._call.function_failure = "Execution failed due to a timeout error"
            finally:
                self._call.integration_milliseconds = self._milliseconds()
                at_end()
            if is_whole:  # else the connection is closed without an end
                await send({"type": "http.response.body", "body": b"", "more_body": False})

        return _responses.StreamingResponse(run)

    async def _rest(self) -> Any:
        piece: bytes | None = self._first or await self._next_piece()
        while piece is not None:
            if self._call.milliseconds_to_content is None:
                self._call.milliseconds_to_content = self._milliseconds()
            yield piece
            piece = await self._next_piece()


def _parsed(metadata: bytes) -> tuple[int, dict[str, Any]]:
    try:
        given = json.loads(metadata)
        if not isinstance(given, dict) or not given.keys() <= _METADATA_KEYS:
            raise MalformedAnswerError
        status = int(given.get("statusCode", 200))
        headers: dict[str, Any] = {"content-type": "application/json"}
        headers |= {name.lower(): str(value) for name, value in (given.get("headers") or {}).items()}
        headers |= {name.lower(): list(values) for name, values in (given.get("multiValueHeaders") or {}).items()}
        if given.get("cookies"):
            headers["set-cookie"] = list(given["cookies"])
    except (ValueError, TypeError, AttributeError):
        raise MalformedAnswerError from None
    if not 100 <= status <= 599:
        raise MalformedAnswerError
    return status, {name: value for name, value in headers.items() if name not in _FRAMING}


def check_method(properties: dict[str, Any]) -> None:
    """Refuse an integration that AWS refuses, or that cannot work there."""
    integration = properties.get("Integration") or {}
    has_streaming_uri = str(integration.get("Uri")).endswith(URI_SUFFIX)
    if integration.get("ResponseTransferMode", "BUFFERED") != "STREAM":
        if has_streaming_uri:
            raise ValueError("The integration's URI streams, but its ResponseTransferMode is not STREAM")
        return
    if integration.get("Type") not in ("AWS_PROXY", "HTTP_PROXY"):
        raise ValueError("ResponseTransferMode STREAM is only supported for AWS_PROXY and HTTP_PROXY integrations")
    if not has_streaming_uri:
        raise ValueError(f"The local cloud streams functions only: the URI ends with {URI_SUFFIX}")
    if not 50 <= int(integration.get("TimeoutInMillis", 29_000)) <= MAX_TIMEOUT_MILLISECONDS:
        raise ValueError(f"Timeout should be between 50 ms and {MAX_TIMEOUT_MILLISECONDS} ms")


def complete_method(_: str, properties: dict[str, Any]) -> None:
    """Set the transfer mode of the method's integration, which MiniStack leaves out."""
    if integration := properties.get("Integration"):
        methods = _gateway._resources[properties["RestApiId"]][properties["ResourceId"]]["resourceMethods"]
        mode = integration.get("ResponseTransferMode", "BUFFERED")
        methods[properties["HttpMethod"]]["methodIntegration"]["responseTransferMode"] = mode
