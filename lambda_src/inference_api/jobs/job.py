"""A job as its row in the table holds it: under 1 kB, and none of the texts."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import NamedTuple

ACCEPTED, SUBMITTED = "ACCEPTED", "SUBMITTED"
SUCCEEDED, FAILED, EXPIRED, CANCELLED = "SUCCEEDED", "FAILED", "EXPIRED", "CANCELLED"
OPEN = (ACCEPTED, SUBMITTED)

# What callers see. Running means handed to the model: it may still wait in the model's own queue.
SHOWN = {
    ACCEPTED: "queued",
    SUBMITTED: "running",
    SUCCEEDED: "succeeded",
    FAILED: "failed",
    EXPIRED: "expired",
    CANCELLED: "cancelled",
}


class Output(NamedTuple):
    """The pinned answer: one version of one S3 object, and whether a copy of it lies in the table."""

    key: str
    version_id: str
    etag: str
    size: int
    content_type: str
    attempt: int
    in_table: bool


class Result(NamedTuple):
    """What an attempt brought: the model's answer, or the words of an error as JSON."""

    body: bytes
    content_type: str


@dataclass(frozen=True)
class Job:
    """One job. Times are seconds of the epoch.

    attempts: how many were claimed; `ended` are those of them that can bring no output any more. sent: the queue's
    message was written. marked: the attempt that the asynchronous endpoint has confirmed, and where a failure of it
    will be described. holds_slot: counts against its owner's open jobs. due_at: when the sweeper looks at it next.
    """

    id: str
    owner: str
    state: str
    accepted_at: float
    deadline: float
    due_at: float | None
    version: int = 0
    writer: str = ""
    attempts: int = 0
    ended: frozenset[int] = frozenset()
    lease_until: float = 0
    sent: bool = False
    marked: int = 0
    failure_key: str | None = None
    output: Output | None = None
    error_code: str | None = None
    error_attempt: int = 0
    refused: bool = False
    holds_slot: bool = True
    announced: bool = False
    ended_at: float | None = None
    expires_at: int | None = None

    @property
    def is_open(self) -> bool:
        """Not in a final state."""
        return self.state in OPEN

    @property
    def may_be_running(self) -> bool:
        """A claimed attempt has not ended."""
        return len(self.ended) < self.attempts

    def running_attempts(self) -> list[int]:
        """Those that may still bring an output, the newest first."""
        return [attempt for attempt in range(self.attempts, 0, -1) if attempt not in self.ended]


def timestamp(seconds: float) -> str:
    """RFC 3339, in UTC, to the millisecond."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
