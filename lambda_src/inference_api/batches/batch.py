"""A batch and a file, as the rows in the table hold them, and as their owner sees them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, NamedTuple

from inference_api.keys.named_key import AuthorizedKey

VALIDATING, FAILED, IN_PROGRESS, FINALIZING = "validating", "failed", "in_progress", "finalizing"
COMPLETED, EXPIRED, CANCELLING, CANCELLED = "completed", "expired", "cancelling", "cancelled"
ENDED = (FAILED, COMPLETED, EXPIRED, CANCELLED)

WINDOW_IN_SECONDS = 86_400
_TIMES = (
    *("in_progress_at", "expires_at", "finalizing_at", "completed_at", "failed_at", "expired_at"),
    *("cancelling_at", "cancelled_at"),
)


class Block(NamedTuple):
    """The results of a block of lines.

    completed, failed: the number of such lines. output, errors: sizes in bytes of the pieces that hold the results.
    """

    completed: int
    failed: int
    output: list[int]
    errors: list[int]


@dataclass(frozen=True)
class Batch:
    """A batch. Times are in seconds since the epoch.

    expires_at: the end of the completion window. key: the named key that made the batch; its limits hold for the lines.
    due_at: when the driver takes the next step. moved_at: when the batch last made progress.
    lines, blocks: their numbers, once the input is checked. done: the results of blocks, by the block's number. seen:
    how many lines of other blocks have completed and failed. ending: the final status that the batch goes to; empty
    while lines may begin. uploads: ids of open multipart uploads, by kind of file. joined: ids of the joined files, by
    kind; empty for a kind without lines. kept_until: when the row may be deleted. trace: X-Ray's header, with which the
    jobs of lines go on with the trace of the batch's request; empty if nothing is traced.
    """

    id: str
    owner: str
    endpoint: str
    input_file_id: str
    input_key: str
    input_version: str
    created_at: int
    expires_at: int
    output_kept_for: int
    metadata: Mapping[str, str] | None = None
    key: Mapping[str, Any] | None = None
    status: str = VALIDATING
    due_at: float | None = None
    version: int = 1
    writer: str = ""
    moved_at: float = 0
    lines: int = 0
    blocks: int = 0
    done: Mapping[str, Block] = field(default_factory=dict)
    seen: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    problems: tuple[Mapping[str, Any], ...] = ()
    ending: str = ""
    uploads: Mapping[str, str] = field(default_factory=dict)
    joined: Mapping[str, str] = field(default_factory=dict)
    times: Mapping[str, int] = field(default_factory=dict)
    kept_until: int | None = None
    trace: str = ""

    @property
    def named_key(self) -> AuthorizedKey | None:
        """The named key that made the batch; None if there is none."""
        return AuthorizedKey(**self.key) if self.key else None

    @property
    def has_ended(self) -> bool:
        """Whether the batch is in a final status."""
        return self.status in ENDED

    def unfinished(self) -> list[int]:
        """Return the numbers of the blocks without results, in order."""
        return [number for number in range(self.blocks) if str(number) not in self.done]

    def job_of(self, line: int) -> str:
        """Return the id of a line's job. It is always the same, so that no repeated step accepts a line twice."""
        return sha256(f"{self.id}/{line}".encode()).hexdigest()[:32]

    def file_of(self, kind: str) -> str:
        """Return the id of the output or error file."""
        return f"file-{sha256(f'{self.id}/{kind}'.encode()).hexdigest()[:32]}"

    def view(self) -> dict[str, Any]:
        """Return the batch in the form of OpenAI's API reference."""
        times = {name: self.times.get(name) for name in _TIMES} | {"expires_at": self.expires_at}
        counts = [*(block[:2] for block in self.done.values()), *self.seen.values()]
        completed, failed = (sum(each[index] for each in counts) for index in (0, 1))
        return {
            "id": self.id,
            "object": "batch",
            "endpoint": self.endpoint,
            "errors": {"object": "list", "data": list(self.problems)} if self.problems else None,
            "input_file_id": self.input_file_id,
            "completion_window": "24h",
            "status": self.status,
            "output_file_id": self.joined.get("output") or None,
            "error_file_id": self.joined.get("errors") or None,
            "created_at": self.created_at,
            **times,
            "request_counts": {"total": self.lines, "completed": completed, "failed": failed},
            "metadata": self.metadata,
        }


@dataclass(frozen=True)
class File:
    """A file: one version of an object in the bucket. expires_at: from then on nobody can read it."""

    id: str
    owner: str
    filename: str
    bytes: int
    purpose: str
    key: str
    version_id: str
    created_at: int
    expires_at: int

    def view(self) -> dict[str, Any]:
        """Return the file in the form of OpenAI's API reference."""
        return {
            "id": self.id,
            "object": "file",
            "bytes": self.bytes,
            "created_at": self.created_at,
            "expires_at": self.expires_at,
            "filename": self.filename,
            "purpose": self.purpose,
            "status": "processed",
            "status_details": None,
        }
