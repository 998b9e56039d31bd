"""Archives of code: a tar.gz with a handler and its settings for a container, a zip of a folder for a machine."""

import io
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import BinaryIO

SETTINGS = "serving.properties"
HANDLER = "model.py"  # DJL Serving looks for this name
SHARED = "shared"  # beside the handlers: modules that go into every archive
LARGEST_BLOCK = 65_535


class ArchiveError(ValueError):
    """An archive can't be made. The message names the file, or what is missing, and the fix."""


def handler_folders(root: Path) -> tuple[str, ...]:
    """Return the names of the handlers in `model_src/`."""
    return tuple(sorted(path.parent.name for path in root.glob(f"*/{HANDLER}")))


def pack(folder: Path | None, properties: Mapping[str, str]) -> bytes:
    """Return a tar.gz of the handler's files, the modules that handlers share, and serving.properties.

    folder: the handler's folder; None = the image's own handler, which needs only its settings. Raises ArchiveError.
    """
    files = _handler_files(folder) if folder else {}
    files[SETTINGS] = settings_file(properties)
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name in sorted(files):
            archive.addfile(tar_entry(name, len(files[name])), io.BytesIO(files[name]))
    buffer.seek(0)
    packed = io.BytesIO()
    gzip_stored(buffer, packed)
    return packed.getvalue()


def zipped(folder: Path) -> bytes:
    """Return a zip of a folder's files. The same files give the same bytes, with the same zlib."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                entry = zipfile.ZipInfo(path.relative_to(folder).as_posix(), (1980, 1, 1, 0, 0, 0))
                entry.external_attr = 0o644 << 16
                archive.writestr(entry, path.read_bytes(), zipfile.ZIP_DEFLATED)
    return buffer.getvalue()


def settings_file(properties: Mapping[str, str]) -> bytes:
    """Return serving.properties, sorted. Java reads it as Latin-1, so other characters than ASCII are escaped."""
    lines = [f"{_escaped(name, separators=True)}={_escaped(properties[name])}\n" for name in sorted(properties)]
    return "".join(lines).encode("ascii")


def _handler_files(folder: Path) -> dict[str, bytes]:
    own = _files(folder)
    if HANDLER not in own:
        raise ArchiveError(
            f"{folder.name}: there is no {HANDLER}; DJL Serving runs the `handle` function of that file."
        )
    if SETTINGS in own:
        raise ArchiveError(
            f"{folder.name}/{SETTINGS} is made of the deployment file; remove it and set its lines there."
        )
    shared = _files(folder.parent / SHARED)
    if doubled := sorted(own.keys() & shared.keys()):
        raise ArchiveError(f"{folder.name}/{doubled[0]} would hide {SHARED}/{doubled[0]}; give it another name.")
    return {**shared, **own}


def _files(folder: Path) -> dict[str, bytes]:
    """Return the content of each file by its path, without hidden files and bytecode."""
    files = {}
    for path in folder.rglob("*"):
        parts = path.relative_to(folder).parts
        if "__pycache__" in parts or any(part.startswith(".") for part in parts):
            continue
        if path.is_symlink():
            raise ArchiveError(f"{folder.name}/{'/'.join(parts)} is a link, which no archive holds; copy the file.")
        if path.is_file():
            files["/".join(parts)] = path.read_bytes()
    return files


def gzip_stored(content: BinaryIO, target: BinaryIO) -> None:
    """Write a gzip file without compression: compressors differ between machines, and weights hardly shrink."""
    target.write(b"\x1f\x8b\x08" + bytes(6) + b"\xff")  # gzip, deflate; no name, no time, no operating system
    checksum = length = 0
    block = content.read(LARGEST_BLOCK)
    while True:
        following = content.read(LARGEST_BLOCK)
        target.write(struct.pack("<BHH", not following, len(block), len(block) ^ 0xFFFF) + block)
        checksum, length = zlib.crc32(block, checksum), length + len(block)
        if not following:
            break
        block = following
    target.write(struct.pack("<II", checksum, length & 0xFFFFFFFF))


def tar_entry(name: str, size: int) -> tarfile.TarInfo:
    """Return the entry of a file; time, owner and group are 0, so that the same files give the same bytes."""
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode = size, 0o644
    return entry


def _escaped(text: str, *, separators: bool = False) -> str:
    special = {"\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\f": "\\f"}
    if separators:
        special |= {character: f"\\{character}" for character in " =:#!"}
    escaped = "".join(special.get(character) or _ascii(character) for character in text)
    return "\\" + escaped if escaped.startswith(" ") else escaped


def _ascii(character: str) -> str:
    if " " <= character <= "~":
        return character
    units = character.encode("utf-16-be")
    return "".join(f"\\u{high:02x}{low:02x}" for high, low in zip(units[::2], units[1::2], strict=True))
