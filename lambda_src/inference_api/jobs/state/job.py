"""A job, as the row in the table holds it: under 1 kB, without prompt, answer or error text."""

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import NamedTuple

# The states as the rows hold them; the values of rows that exist can't change.
QUEUED, RUNNING = "ACCEPTED", "SUBMITTED"
SUCCEEDED, FAILED, EXPIRED, CANCELLED = "SUCCEEDED", "FAILED", "EXPIRED", "CANCELLED"
OPEN = (QUEUED, RUNNING)

_ID = re.compile(r"[0-9a-f]{32}")

# The status that callers see. A running job is handed to the model, and may still wait in the model's own queue.
SHOWN = {
    QUEUED: "queued",
    RUNNING: "running",
    SUCCEEDED: "succeeded",
    FAILED: "failed",
    EXPIRED: "expired",
    CANCELLED: "cancelled",
}


class Output(NamedTuple):
    """The job's answer: one version of an S3 object. in_table: the table has a copy."""

    key: str
    version_id: str
    etag: str
    size: int
    content_type: str
    attempt: int
    in_table: bool


@dataclass(frozen=True)
class Job:
    """One job. Times are in seconds since the epoch.

    due_at: when the sweeper looks at it next. version, writer: of the row's last write.
    attempts: the number of claims. ended: the attempts that can bring no output any more. claimed_at: the last claim.
    lease_until: until then the last claim is its worker's alone.
    sent_at: when the queue last got a message for the job; 0 if the queue holds none.
    marked: the last attempt that the asynchronous endpoint confirmed. output_key, failure_key: where SageMaker says
    that it writes that attempt's output, or describes its failure. error_code, error_attempt: the last error, and its
    attempt. refused: whether the model refuses the request. holds_slot: whether the job counts against its owner's open
    jobs. announced: whether the event of its end was sent. expires_at: when DynamoDB may delete the row. keep_until:
    the row stays at least until then. tokens_in, tokens_out: the charge of its owner's key until the end; 0 if nothing
    is counted. trace: X-Ray's header, with which others go on with the trace of the job's request; empty if nothing is
    traced.
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
    claimed_at: float = 0
    lease_until: float = 0
    sent_at: float = 0
    marked: int = 0
    output_key: str | None = None
    failure_key: str | None = None
    output: Output | None = None
    error_code: str | None = None
    error_attempt: int = 0
    refused: bool = False
    holds_slot: bool = True
    announced: bool = False
    ended_at: float | None = None
    expires_at: int | None = None
    keep_until: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    trace: str = ""

    @property
    def is_open(self) -> bool:
        """Whether the job is not in a final state."""
        return self.state in OPEN

    @property
    def may_be_running(self) -> bool:
        """Whether a claimed attempt has not ended."""
        return len(self.ended) < self.attempts

    def running_attempts(self) -> list[int]:
        """Return the attempts that may still bring an output, the newest first."""
        return [attempt for attempt in range(self.attempts, 0, -1) if attempt not in self.ended]


def is_job_id(text: object) -> bool:
    """Whether a value from a caller or a message has the form of a job's id."""
    return isinstance(text, str) and _ID.fullmatch(text) is not None


def timestamp(seconds: float) -> str:
    """Return a time in the form of RFC 3339, in UTC, to the millisecond. seconds: since the epoch."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
