"""The messages between the server and the ranks of a handler."""

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class RankRequest:
    """A call to every rank; without content it is the warm-up call."""

    properties: dict[str, Any]
    content: bytes | None = None


@dataclass(frozen=True)
class RankReply:
    """The answer of one rank: its handler's output, status 204 without any; `error` is the reason of a failure."""

    status: int
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    error: str = ""
