"""The input of a handler: the properties of the model or of the request, and the body."""

import json
from typing import Any


class Input:
    """A request with its headers as properties; without content it is the warm-up call with the model's properties."""

    def __init__(self, properties: dict[str, Any], content: bytes | None = None) -> None:
        self.properties = properties
        self._content = content

    def is_empty(self) -> bool:
        """Whether this is the warm-up call."""
        return self._content is None

    def get_properties(self) -> dict[str, Any]:
        """The properties, named as in serving.properties without `option.`."""
        return self.properties

    def get_as_bytes(self, key: str | None = None) -> bytes | None:
        """The body; None in the warm-up call. Raises KeyError for any part but `data`."""
        if key not in (None, "data"):
            raise KeyError(f"requested data for key:{key} is not found!")
        return self._content

    def get_as_string(self, key: str | None = None) -> str:
        """The body as text. Raises UnicodeDecodeError, a ValueError."""
        return (self.get_as_bytes(key) or b"").decode("utf-8")

    def get_as_json(self, key: str | None = None) -> Any:
        """The body, decoded. Raises ValueError."""
        return json.loads(self.get_as_string(key))
