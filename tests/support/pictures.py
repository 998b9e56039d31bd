"""Pictures of any size, made without a library for images."""

import base64
import struct
import zlib


def png(width: int, height: int) -> bytes:
    """Return a whole PNG of one colour."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    rows = zlib.compress(b"".join(b"\0" + b"\x7f" * width for _ in range(height)), 9)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")


def png_bomb(side: int) -> bytes:
    """Return a PNG of a few bytes whose header names a huge picture."""
    whole = png(1, 1)
    header = b"IHDR" + struct.pack(">IIBBBBB", side, side, 8, 0, 0, 0, 0)
    return whole[:12] + header + struct.pack(">I", zlib.crc32(header)) + whole[33:]


def jpeg(width: int, height: int) -> bytes:
    """Return the segments of a JPEG: EXIF with a smaller preview, then the frame."""
    preview = b"\xff\xd8\xff\xc0\x00\x0b\x08\x00\x01\x00\x01\x01\x01\x11\x00\xff\xd9"
    exif = b"Exif\0\0" + preview
    frame = b"\xff\xc2" + struct.pack(">HBHHB", 11, 8, height, width, 1) + b"\x01\x11\x00"
    return b"\xff\xd8\xff\xe1" + struct.pack(">H", len(exif) + 2) + exif + frame + b"\xff\xda\x00\x02\x00\xff\xd9"


def gif(width: int, height: int) -> bytes:
    return b"GIF89a" + struct.pack("<HH", width, height) + b"\0\0\0;"


def webp(width: int, height: int, form: bytes = b"VP8X") -> bytes:
    """Return the header of one of WebP's three forms."""
    match form:
        case b"VP8X":
            body = b"\0" * 4 + (width - 1).to_bytes(3, "little") + (height - 1).to_bytes(3, "little")
        case b"VP8L":
            body = b"\x2f" + ((width - 1) | (height - 1) << 14).to_bytes(4, "little")
        case _:
            body = b"\0\0\0\x9d\x01\x2a" + struct.pack("<HH", width, height)
    body = form + struct.pack("<I", len(body)) + body
    return b"RIFF" + struct.pack("<I", len(body) + 4) + b"WEBP" + body


def data_url(data: bytes, kind: str = "image/png") -> str:
    return f"data:{kind};base64,{base64.b64encode(data).decode()}"
