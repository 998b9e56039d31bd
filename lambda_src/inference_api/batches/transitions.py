"""The life of a batch as pure functions: row -> next row, or None if the change is not allowed.

BatchTable.change() reads the row, asks one of these functions, and writes if the row is still the one that it read. So
two steps of one batch at once, repeated steps and steps that end in the middle change nothing twice.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from inference_api.batches.batch import (
    CANCELLED,
    CANCELLING,
    COMPLETED,
    EXPIRED,
    FAILED,
    FINALIZING,
    IN_PROGRESS,
    VALIDATING,
    Batch,
    Block,
)

# Longer than a step takes (70 % of the driver's 60 s), and over by the driver's call a minute later, which repeats a
# step that died.
LEASE_IN_SECONDS = 55
# A batch that moves gets its next step soon, another one each minute.
SOON_IN_SECONDS = 2
_MOVES_FOR_IN_SECONDS, _LATER_IN_SECONDS = 15, 30


def begin_step(batch: Batch, now: float) -> Batch | None:
    """Put off the next step, so that two steps at once are rare. Past its window a batch begins no more lines."""
    if batch.has_ended or batch.due_at is None or batch.due_at > now:
        return None
    late = now >= batch.expires_at and not batch.ending
    return replace(batch, due_at=now + LEASE_IN_SECONDS, ending=EXPIRED if late else batch.ending)


def end_step(batch: Batch, now: float, leased_until: float | None, moved: bool) -> Batch | None:
    """Plan the next step, unless another step has begun in between, or a caller has asked for one."""
    if batch.has_ended or batch.due_at != leased_until:
        return None
    moved_at = now if moved else batch.moved_at
    pause = SOON_IN_SECONDS if now - moved_at < _MOVES_FOR_IN_SECONDS else _LATER_IN_SECONDS
    return replace(batch, due_at=now + pause, moved_at=moved_at)


def refuse(batch: Batch, problems: Sequence[Mapping[str, Any]], now: float, retention: int) -> Batch | None:
    """Fail a batch whose input is invalid."""
    return _ended(replace(batch, problems=tuple(problems)), FAILED, now, retention) if _is_new(batch) else None


def start(batch: Batch, lines: int, blocks: int, now: float) -> Batch | None:
    """Start a batch whose input is valid."""
    if not _is_new(batch):
        return None
    return _at(replace(batch, status=IN_PROGRESS, lines=lines, blocks=blocks), "in_progress_at", now)


def note_seen(batch: Batch, seen: Mapping[str, tuple[int, int]]) -> Batch | None:
    """Note how many lines have ended in blocks without results, for the counts that callers see.

    No count goes back: a step that ran out of time, or that another one overtook, may have seen less.
    """
    merged = dict(batch.seen)
    for number, (completed, failed) in seen.items():
        if number not in batch.done:
            earlier = merged.get(number, (0, 0))
            merged[number] = max(completed, earlier[0]), max(failed, earlier[1])
    return replace(batch, seen=merged) if not batch.has_ended and batch.seen != merged else None


def note_block(batch: Batch, number: int, block: Block) -> Batch | None:
    """Note that the results of a block are stored."""
    if batch.has_ended or str(number) in batch.done:
        return None
    seen = {other: counts for other, counts in batch.seen.items() if other != str(number)}
    return replace(batch, done={**batch.done, str(number): block}, seen=seen)


def cancel(batch: Batch, now: float) -> Batch | None:
    """Cancel a batch for its owner."""
    if batch.status not in (VALIDATING, IN_PROGRESS) or batch.ending:
        return None
    return _at(replace(batch, status=CANCELLING, ending=CANCELLED, due_at=now), "cancelling_at", now)


def finalize(batch: Batch, now: float) -> Batch | None:
    """Begin to join the files of a batch: all of its blocks have results."""
    if batch.status != IN_PROGRESS or batch.unfinished():
        return None
    ending = batch.ending or COMPLETED
    return _at(replace(batch, status=FINALIZING, ending=ending), "finalizing_at", now)


def note_upload(batch: Batch, kind: str, upload: str) -> Batch | None:
    """Note a multipart upload; the first one for a file counts. An empty id removes it."""
    if kind in batch.joined or (upload and batch.uploads.get(kind)):
        return None
    return replace(batch, uploads={**batch.uploads, kind: upload})


def note_joined(batch: Batch, kind: str, file_id: str) -> Batch | None:
    """Note that a file is stored. file_id: empty for a kind without lines."""
    return replace(batch, joined={**batch.joined, kind: file_id}) if kind not in batch.joined else None


def end(batch: Batch, now: float, retention: int) -> Batch | None:
    """End a batch that has nothing left to do."""
    if batch.has_ended or not batch.ending:
        return None
    return _ended(batch, batch.ending, now, retention)


def _is_new(batch: Batch) -> bool:
    return batch.status == VALIDATING and not batch.ending


def _at(batch: Batch, name: str, now: float) -> Batch:
    return replace(batch, times={**batch.times, name: int(now)})


def _ended(batch: Batch, status: str, now: float, retention: int) -> Batch:
    batch = replace(batch, status=status, due_at=None, kept_until=int(now) + retention)
    return _at(batch, f"{status}_at", now)
