"""The output of a handler: status, properties and body."""

import json
from typing import Any, Self


class Output:
    """A response; error() turns it into DJL's own failure."""

    def __init__(self, code: int = 200, message: str = "OK") -> None:
        self.code = code
        self.message = message
        self.properties: dict[str, str] = {}
        self.content: list[tuple[str | None, bytes]] = []

    def error(self, error: str, code: int = 424, message: str = "prediction failure") -> Self:
        """Replace the output by this status and {"code", "message", "error"}."""
        self.code, self.message = code, message
        self.add_property("content-type", "application/json")
        return self.add_as_json({"code": code, "message": message, "error": error})

    def add_property(self, key: str, val: str) -> Self:
        """Set a header of the response."""
        self.properties[key] = val
        return self

    def add(self, value: Any, key: str | None = None) -> Self:
        """Add text or bytes as they are, anything else as JSON."""
        if isinstance(value, str):
            self.content.append((key, value.encode("utf-8")))
        elif isinstance(value, bytes | bytearray):
            self.content.append((key, bytes(value)))
        else:
            self.add_as_json(value, key)
        return self

    def add_as_json(self, val: Any, key: str | None = None) -> Self:
        """Add a value as JSON. Raises ValueError for NaN, TypeError for values that JSON lacks."""
        text = json.dumps(val, ensure_ascii=False, allow_nan=False, indent=2, separators=(",", ":"))
        self.content.append((key, text.encode("utf-8")))
        return self
