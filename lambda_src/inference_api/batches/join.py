"""Joins the pieces of a batch's results to one file, with bounded memory and in as many steps as it takes."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from inference_api.batches import transitions
from inference_api.batches.batch import Batch, File
from inference_api.batches.storage import PART_BYTES, Storage
from inference_api.batches.table import BatchTable
from inference_api.shared.runtime import Runtime


class _Piece(NamedTuple):
    block: int
    piece: int
    start: int
    end: int


def join(
    batch: Batch, kind: str, storage: Storage, table: BatchTable, runtime: Runtime, may_go_on: Callable[[], bool]
) -> Batch:
    """Add parts to the file while there is time. Once it is whole, store its row and note it in the batch's.

    A part holds the same bytes whichever step uploads it: PART_BYTES of the whole, from a multiple of that.
    """
    pieces = _pieces(batch, kind)
    size = pieces[-1].end if pieces else 0
    if not size:
        return table.change(batch, lambda row: transitions.note_joined(row, kind, ""))[0]
    file_id = batch.file_of(kind)
    key = f"file/{file_id}"
    if size <= PART_BYTES:
        _, version = storage.put_file(file_id, _read(batch, kind, pieces, 0, size, storage))
    else:
        found, batch = _upload(batch, kind, key, pieces, storage, table, may_go_on)
        if found is None:
            return batch
        version = found
    now = int(runtime.now())
    filename = f"{batch.id}_{'output' if kind == 'output' else 'error'}.jsonl"
    expires_at = now + batch.output_kept_for
    table.add(File(file_id, batch.owner, filename, size, "batch_output", key, version, now, expires_at))
    return table.change(batch, lambda row: transitions.note_joined(row, kind, file_id))[0]


def _upload(
    batch: Batch,
    kind: str,
    key: str,
    pieces: list[_Piece],
    storage: Storage,
    table: BatchTable,
    may_go_on: Callable[[], bool],
) -> tuple[str | None, Batch]:
    """Upload missing parts. Return the version of the whole file, or None while parts are missing."""
    if not batch.uploads.get(kind):
        upload = storage.begin_upload(key)  # the bucket's rules abort an upload that is noted nowhere
        batch, _ = table.change(batch, lambda row: transitions.note_upload(row, kind, upload))
    upload = batch.uploads[kind]
    parts = storage.parts(key, upload)
    if parts is None:  # completed by a step that then died, or aborted by the bucket's rules
        version = storage.find_version(key)
        if version is None:
            batch, _ = table.change(batch, lambda row: transitions.note_upload(row, kind, ""))
        return version, batch
    size = pieces[-1].end
    for part in range(1, -(-size // PART_BYTES) + 1):
        if part in parts:
            continue
        if not may_go_on():
            return None, batch
        start = (part - 1) * PART_BYTES
        end = min(start + PART_BYTES, size)
        parts[part] = storage.put_part(key, upload, part, _read(batch, kind, pieces, start, end, storage))
    storage.complete_upload(key, upload, parts)
    return storage.find_version(key), batch


def _pieces(batch: Batch, kind: str) -> list[_Piece]:
    """Return all pieces in the order of the input, with their places in the whole file."""
    found: list[_Piece] = []
    at = 0
    for block in range(batch.blocks):
        result = batch.done[str(block)]
        for piece, size in enumerate(result.output if kind == "output" else result.errors):
            found.append(_Piece(block, piece, at, at + size))
            at += size
    return found


def _read(batch: Batch, kind: str, pieces: list[_Piece], start: int, end: int, storage: Storage) -> bytes:
    def parts() -> Iterator[bytes]:
        for block, piece, begins, ends in pieces:
            if begins < end and start < ends:
                first, last = max(start, begins) - begins, min(end, ends) - begins
                yield storage.read_piece(batch, block, kind, piece, first, last)

    return b"".join(parts())
