"""The pictures of a chat, as an engine reads them: it decodes headers, and refuses what an engine refuses."""

import base64
import json
import math
import re
import struct
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from local_cloud.model_server.contract.answer import EngineRefusedError
from local_cloud.model_server.text.catalog_row import CatalogRow

_TEXTS_ONLY = ("ForCausalLM", "LMHeadModel")


class Seen(NamedTuple):
    """What a model says of the pictures, and the tokens that it makes of them."""

    text: str
    tokens: int


class Eye:
    """The part of a model that reads pictures. models: the catalog's file."""

    def __init__(self, row: CatalogRow, settings: Mapping[str, str], models: Path) -> None:
        names = {settings.get(row.variables.get("model", "")), settings.get("OPTION_MODEL_ID")} - {None}
        known = json.loads(models.read_text())["models"]
        self._model: dict[str, Any] = next((each for each in known if names & set(each["ids"])), {})
        given = {name.partition("_")[2]: value for name, value in settings.items()}
        limit = next((value for name, value in given.items() if name.endswith("LIMIT_MM_PER_PROMPT")), "")
        images = re.search(r'image"?[:=] ?(\d+)', limit)  # JSON, or image=4 in older LMI
        self._most = int(images[1]) if images else None
        self._host = next((value for name, value in given.items() if name.endswith("ALLOWED_MEDIA_DOMAINS")), None)

    def look(self, urls: Sequence[str]) -> Seen:
        """Read the pictures; raises EngineRefusedError in vLLM's words."""
        if not urls:
            return Seen("", 0)
        if "vision" not in self._model and str(self._model.get("architecture", "")).endswith(_TEXTS_ONLY):
            raise EngineRefusedError(f"{self._model['ids'][0]} is not a multimodal model")
        if self._most is not None and len(urls) > self._most:
            raise EngineRefusedError(f"At most {self._most} image(s) may be provided in one prompt.")
        seen = [self._seen(url) for url in urls]
        return Seen(" ".join(each.text for each in seen), sum(each.tokens for each in seen))

    def _seen(self, url: str) -> Seen:
        parts = urlsplit(url)
        if parts.scheme in ("http", "https"):
            if self._host and parts.hostname != self._host:
                raise EngineRefusedError(f"The URL must be from one of the allowed domains: ['{self._host}'].")
            return Seen(f"The image is at {parts.hostname}.", 0)  # nothing is loaded from anywhere
        if parts.scheme != "data":
            raise EngineRefusedError("The URL must be either a HTTP, data or file URL.")
        try:
            size = size_of(base64.b64decode(url.partition(",")[2], validate=True))
        except ValueError:
            raise EngineRefusedError("Invalid base64-encoded string") from None
        if size is None:
            raise EngineRefusedError("cannot identify image file")
        return Seen(f"The image is {size[0]}x{size[1]}.", _tokens(*size, self._model.get("vision") or {}))


def size_of(data: bytes) -> tuple[int, int] | None:
    """Width and height; None = no PNG, GIF, WebP or JPEG. The last frame of a JPEG counts, after that of a preview."""
    if data.startswith(b"\x89PNG"):
        return struct.unpack(">II", data[16:24]) if len(data) >= 24 and b"IEND" in data else None
    if data.startswith(b"GIF8"):
        return struct.unpack("<HH", data[6:10])
    if data.startswith(b"RIFF") and data[12:16] == b"VP8X":
        return int.from_bytes(data[24:27], "little") + 1, int.from_bytes(data[27:30], "little") + 1
    if data.startswith(b"RIFF") and data[12:16] == b"VP8L":
        bits = int.from_bytes(data[21:25], "little")
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    if data.startswith(b"RIFF"):
        return struct.unpack("<HH", data[26:30])
    frames = re.findall(rb"\xff[\xc0-\xc2]..\x08(..)(..)", data, re.DOTALL) if data.startswith(b"\xff\xd8") else []
    return (int.from_bytes(frames[-1][1], "big"), int.from_bytes(frames[-1][0], "big")) if frames else None


def _tokens(width: int, height: int, law: Mapping[str, Any]) -> int:
    """The tokens of a picture by the columns `vision` of the catalog; of tiles the most."""
    match law.get("law"):
        case "scaled":
            pixels = min(max(width * height, law["least_pixels"]), law["most_pixels"])
            scale = math.sqrt(pixels / (width * height))
            return math.prod(max(1, round(side * scale / law["patch"])) for side in (width, height))
        case "fitted":
            scale = min(1, law["longest_side"] / max(width, height))
            columns, rows = (math.ceil(side * scale / law["patch"]) for side in (width, height))
            return int(rows * (columns + 1))
        case "tiles":
            return int(law["tokens"] * (law["most_tiles"] + 1))
    return int(law.get("tokens", 0))


def urls_in(messages: Any) -> Iterator[str]:
    """The addresses of all pictures of a chat, in order."""
    for message in messages if isinstance(messages, list) else ():
        content = message.get("content") if isinstance(message, dict) else None
        for part in content if isinstance(content, list) else ():
            given = part.get("image_url") if isinstance(part, dict) else None
            url = given.get("url") if isinstance(given, dict) else given
            if isinstance(url, str):
                yield url
