"""What the server and the ranks of a handler say to each other."""

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Request:
    """To every rank; without content it is the warm-up call."""

    properties: dict[str, Any]
    content: bytes | None = None


@dataclass(frozen=True)
class Reply:
    """From one rank: what its handler gave, or 204 for nothing; `error` says what failed."""

    status: int
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    error: str = ""
