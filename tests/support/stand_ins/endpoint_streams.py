"""A real-time endpoint that answers at once, with parts that a test chooses."""

import json
from collections import Counter
from collections.abc import Iterator
from threading import Event
from typing import Any

from botocore.exceptions import ClientError

from support.patience import PATIENCE_IN_SECONDS

SILENCE = b"until somebody hangs up"


class EventStream:
    """botocore's event stream of these parts. An exception among them is raised in its place."""

    def __init__(self, parts: list[bytes | Exception]) -> None:
        self._parts, self.closed = parts, False
        self._raw_stream, self._hung_up = self, Event()

    def __iter__(self) -> Iterator[dict[str, Any]]:
        for part in self._parts:
            if part == SILENCE:
                self._hung_up.wait(PATIENCE_IN_SECONDS)
                raise ConnectionResetError
            if isinstance(part, Exception):
                raise part
            yield {"PayloadPart": {"Bytes": part}}

    def fileno(self) -> int:
        self._hung_up.set()  # the client takes the socket to shut it down
        raise ValueError

    def close(self) -> None:
        self.closed = True


class SageMaker:
    """The two calls of an endpoint. `bodies` holds the bodies that it got, by call; `counts` is the table of usage."""

    def __init__(self, *parts: bytes | Exception, refusal: ClientError | None = None) -> None:
        self.stream, self.refusal = EventStream([*parts]), refusal
        self.bodies: list[tuple[str, dict[str, Any]]] = []
        self.counts = Counter[str]()

    def update_item(self, *, ExpressionAttributeValues: dict[str, Any], **_: Any) -> dict[str, Any]:
        for name in ("requests", "errors", "tokens_in", "tokens_out"):
            self.counts[name] += int(ExpressionAttributeValues.get(f":{name}", {"N": "0"})["N"])
        return {}

    def invoke_endpoint_with_response_stream(self, *, Body: bytes, **_: Any) -> dict[str, Any]:
        self.bodies.append(("stream", json.loads(Body)))
        if self.refusal:
            raise self.refusal
        return {"Body": self.stream}

    def invoke_endpoint(self, *, Body: bytes, **_: Any) -> dict[str, Any]:
        self.bodies.append(("invoke", json.loads(Body)))
        return {"Body": self, "ContentType": "application/json"}

    def read(self) -> bytes:
        return b"".join(part["PayloadPart"]["Bytes"] for part in self.stream)

    def describe_endpoint(self, **_: Any) -> dict[str, Any]:
        return {"EndpointStatus": "InService", "EndpointConfigName": ""}

    def close(self) -> None:
        """Close the client."""
