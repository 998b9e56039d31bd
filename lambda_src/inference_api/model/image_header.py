"""Kind and size of a PNG, JPEG, WebP or GIF, from its header: nothing is decompressed."""

import struct
from typing import NamedTuple

# Markers of a JPEG's frame, which hold the size: SOF0 to SOF15 without DHT, JPG and DAC.
_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
_WITHOUT_LENGTH = frozenset((0x01, *range(0xD0, 0xD8)))


class Header(NamedTuple):
    """An image's media type, and its width and height in pixels. whole: whether the file has its end."""

    kind: str
    width: int
    height: int
    whole: bool


def read_header(data: bytes) -> Header | None:
    """Return the header; None = this is no PNG, JPEG, WebP or GIF, or it is cut within its header."""
    try:
        if data.startswith(b"\x89PNG\r\n\x1a\n") and data[12:16] == b"IHDR":
            width, height = struct.unpack(">II", data[16:24])
            return Header("image/png", width, height, b"IEND" in data)
        if data.startswith((b"GIF87a", b"GIF89a")):
            width, height = struct.unpack("<HH", data[6:10])
            return Header("image/gif", width, height, data.rstrip(b"\0").endswith(b";"))
        if data.startswith(b"\xff\xd8\xff"):
            return _jpeg(data)
        if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
            width, height = _webp_size(data)
            return Header("image/webp", width, height, len(data) >= int.from_bytes(data[4:8], "little") + 8)
    except (IndexError, ValueError, struct.error):
        pass
    return None


def _jpeg(data: bytes) -> Header:
    """Walk over the segments before the frame, such as EXIF with a preview. Raises IndexError if the data end."""
    at = 2
    while True:
        while data[at] == 0xFF:
            at += 1
        marker, at = data[at], at + 1
        if marker in _FRAMES:
            height, width = struct.unpack(">HH", data[at + 3 : at + 7])
            return Header("image/jpeg", width, height, data.find(b"\xff\xd9", at) > 0)
        if marker not in _WITHOUT_LENGTH:
            at += max(2, int.from_bytes(data[at : at + 2], "big"))
        if data[at] != 0xFF:
            raise ValueError("no marker follows")


def _webp_size(data: bytes) -> tuple[int, int]:
    """Raises ValueError for an unknown form."""
    if data[12:16] == b"VP8X":
        return int.from_bytes(data[24:27], "little") + 1, int.from_bytes(data[27:30], "little") + 1
    if data[12:16] == b"VP8L" and data[20] == 0x2F:
        bits = int.from_bytes(data[21:25], "little")
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    if data[12:16] == b"VP8 " and data[23:26] == b"\x9d\x01\x2a":
        width, height = struct.unpack("<HH", data[26:30])
        return width & 0x3FFF, height & 0x3FFF
    raise ValueError("no form of WebP")
