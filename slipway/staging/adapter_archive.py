"""The archive of a staged adapter: one tar.gz of its two files, which SageMaker loads."""

import hashlib
import io
import tarfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

from llm_hosting.archive import gzip_stored, tar_entry
from llm_hosting.deployment.settings.model import archive_of_adapter
from slipway.staging.staging import StagingError
from slipway.staging.weights_prefix import WeightsPrefix

_FIX = "remove it, and run the command again, or stage to another prefix"
_BLOCK = 1024 * 1024
_ROOM_FOR_HEADERS_IN_BYTES = 1024 * 1024  # of tar, beside the two files


def pack_adapter(files: Mapping[str, Path], target: Path) -> None:
    """Write the archive. The same files give the same bytes."""
    with target.with_suffix(".tar").open("w+b") as plain, target.open("wb") as packed:
        with tarfile.open(fileobj=plain, mode="w", format=tarfile.PAX_FORMAT) as archive:
            for name, path in sorted(files.items()):
                with path.open("rb") as file:
                    archive.addfile(tar_entry(name, path.stat().st_size), file)
        plain.seek(0)
        gzip_stored(plain, packed)


def demand_archive_of(stream: IO[bytes], files: Mapping[str, Path], place: str) -> None:
    """Raise StagingError unless the archive unpacks to these files at its root, and to nothing else.

    It is never unpacked to a disk, and read no further than the files are long.
    """
    left = dict(files)
    plain = _Unpacked(stream, sum(path.stat().st_size for path in files.values()) + _ROOM_FOR_HEADERS_IN_BYTES, place)
    try:
        with tarfile.open(fileobj=io.BufferedReader(plain), mode="r|") as archive:
            for entry in archive:
                name = entry.name.removeprefix("./")
                path = left.pop(name, None)
                content = archive.extractfile(entry) if path and entry.isfile() else None
                if path is None or content is None:
                    raise StagingError(f"{place} holds {entry.name!r:.80} beside an adapter's two files; remove it.")
                if _sha256(content) != _sha256(path.open("rb")):
                    raise StagingError(f"{place} holds another {name} than the prefix beside it; {_FIX}.")
    except (tarfile.TarError, zlib.error, EOFError, OSError) as error:
        raise StagingError(f"{place} is no tar.gz ({error}); {_FIX}.") from None
    if left:
        raise StagingError(f"{place} lacks {', '.join(left)} at its root; {_FIX}.")


def store_archive(prefix: WeightsPrefix, files: Mapping[str, Path], folder: Path) -> bool:
    """Put the archive beside the prefix unless it is there. Returns whether it is new.

    An archive is never replaced: new copies of the model load the same bytes as running ones. Raises StagingError for
    an archive of other files, and boto3's errors.
    """
    place, packed = archive_of_adapter(prefix.weights), folder / "adapter.tar.gz"
    pack_adapter(files, packed)
    with packed.open("rb") as body:
        is_new = prefix.put(place, body, "application/gzip")
    if not is_new:
        demand_archive_of(prefix.open(place), files, place)
    return is_new


class _Unpacked(io.RawIOBase):
    """The bytes within a gzip file. A file that unpacks to more than `limit` bytes is an error: StagingError."""

    def __init__(self, packed: IO[bytes], limit: int, place: str) -> None:
        self._packed, self._limit, self._place = packed, limit, place
        self._unpacker, self._read = zlib.decompressobj(wbits=31), 0  # 31: gzip with its header

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        held = b""
        while not held and not self._unpacker.eof:
            packed = self._unpacker.unconsumed_tail or self._packed.read(_BLOCK)
            if not packed:
                raise EOFError("it is cut")
            held = self._unpacker.decompress(packed, len(buffer))
        self._read += len(held)
        if self._read > self._limit:
            raise StagingError(f"{self._place} unpacks to more than the {self._limit:,} bytes of an adapter; {_FIX}.")
        buffer[: len(held)] = held
        return len(held)


def _sha256(content: IO[bytes]) -> str:
    digest = hashlib.sha256()
    with content:
        while block := content.read(_BLOCK):
            digest.update(block)
    return digest.hexdigest()
