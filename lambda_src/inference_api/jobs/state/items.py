"""Job <-> DynamoDB item, and the keys of the table."""

from collections.abc import Mapping
from dataclasses import fields
from hashlib import sha256
from typing import Any

from inference_api.jobs.state.job import Job, Output
from inference_api.shared.attributes import number

Item = Mapping[str, Mapping[str, Any]]

WAITING_KEY = {"pk": {"S": "waiting"}}

FORMAT = 1
# Enough shards that no partition of the index takes more than 1,000 writes per second.
DUE_SHARDS = 8

_FLAGS = ("refused", "holds_slot", "announced")
_TEXTS = ("id", "owner", "state", "writer", "output_key", "failure_key", "error_code", "trace")
_NUMBERS = ("accepted_at", "deadline", "sent_at", "claimed_at", "lease_until", "ended_at")
_COUNTS = ("version", "attempts", "marked", "error_attempt", "expires_at", "keep_until", "tokens_in", "tokens_out")
_DEFAULTS = {each.name: each.default for each in fields(Job)}


def job_key(job_id: str) -> dict[str, Any]:
    """Return the key of a job's row."""
    return {"pk": {"S": f"job#{job_id}"}}


def output_key(job_id: str, attempt: int) -> dict[str, Any]:
    """Return the key of the copy of an attempt's output."""
    return {"pk": {"S": f"output#{job_id}.{attempt}"}}


def error_key(job_id: str, attempt: int) -> dict[str, Any]:
    """Return the key of an attempt's error. It is not the output's: an attempt that seemed lost may still bring one."""
    return {"pk": {"S": f"error#{job_id}.{attempt}"}}


def idempotency_key(owner: str, key: str) -> dict[str, Any]:
    """Return the key of the row of a caller's `Idempotency-Key`."""
    return {"pk": {"S": f"key#{sha256(f'{owner}/{key}'.encode()).hexdigest()}"}}


def slots_key(owner: str) -> dict[str, Any]:
    """Return the key of the count of an owner's open jobs."""
    return {"pk": {"S": f"owner#{owner}"}}


def tokens_key(owner: str, day: str) -> dict[str, Any]:
    """Return the key of the count of an owner's answer tokens on a day."""
    return {"pk": {"S": f"owner#{owner}#{day}"}}


def due_shard(number: int) -> str:
    """Return the name of a shard of the sweeper's index."""
    return str(number)


def to_item(job: Job) -> dict[str, Any]:
    """Return a job's item. Only jobs that the sweeper must look at have `due_at`, so that its index is sparse."""
    item = job_key(job.id) | {"v": number(FORMAT), "listed_at": {"S": f"{job.accepted_at:017.3f}#{job.id}"}}
    for name in _FLAGS + _TEXTS + _NUMBERS + _COUNTS:
        value = getattr(job, name)
        if value != _DEFAULTS[name]:
            item[name] = {"BOOL": value} if name in _FLAGS else {"S": value} if name in _TEXTS else number(value)
    if job.ended:
        item["ended"] = {"NS": [str(attempt) for attempt in sorted(job.ended)]}
    if job.due_at is not None:
        item |= {"due_at": number(job.due_at), "due_shard": {"S": due_shard(int(job.id[:8], 16) % DUE_SHARDS)}}
    if job.output:
        key, version_id, etag, size, content_type, attempt, in_table = job.output
        texts = {"key": key, "version_id": version_id, "etag": etag, "content_type": content_type}
        pinned = {name: {"S": value} for name, value in texts.items()}
        numbers = {"size": number(size), "attempt": number(attempt), "in_table": {"BOOL": in_table}}
        item["output"] = {"M": pinned | numbers}
    return item


def from_item(item: Item) -> Job:
    """Read a job's item. Unknown attributes, which another version added, are ignored."""
    values: dict[str, Any] = {}
    for name in _FLAGS + _TEXTS + _NUMBERS + _COUNTS:
        if name in item:
            (value,) = item[name].values()
            values[name] = int(value) if name in _COUNTS else float(value) if name in _NUMBERS else value
    if "ended" in item:
        values["ended"] = frozenset(map(int, item["ended"]["NS"]))
    values["due_at"] = float(item["due_at"]["N"]) if "due_at" in item else None
    if "output" in item:
        pinned = item["output"]["M"]
        values["output"] = Output(
            key=pinned["key"]["S"],
            version_id=pinned["version_id"]["S"],
            etag=pinned["etag"]["S"],
            size=int(pinned["size"]["N"]),
            content_type=pinned["content_type"]["S"],
            attempt=int(pinned["attempt"]["N"]),
            in_table=pinned["in_table"]["BOOL"],
        )
    return Job(**values)
