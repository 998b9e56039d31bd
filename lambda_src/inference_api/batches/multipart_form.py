"""multipart/form-data: the fields and the file of one form, as RFC 7578 has them."""

import re
from typing import NamedTuple

from inference_api.shared.errors import ApiError

_BOUNDARY = re.compile(r'boundary=(?:"([^"]{1,70})"|([^\s;,"]{1,70}))', re.IGNORECASE)
_PARAMETER = re.compile(r';\s*(name|filename)="([^"\r\n]*)"', re.IGNORECASE)
_MOST_PARTS = 20


class Part(NamedTuple):
    """A field or a file of the form. filename: None for a field."""

    name: str
    filename: str | None
    body: bytes


def read_form(body: bytes, content_type: str | None) -> list[Part]:
    """Return the parts in their order. Raises ApiError 400 or 415."""
    kind = (content_type or "").partition(";")[0].strip().lower()
    if kind != "multipart/form-data":
        message = "Send the file as multipart/form-data, with the fields `file` and `purpose`."
        raise ApiError("unsupported_media_type", message)
    boundary = _BOUNDARY.search(content_type or "")
    if boundary is None:
        raise _broken("its content-type names no boundary")
    delimiter = b"\r\n--" + (boundary[1] or boundary[2]).encode(errors="replace")
    pieces = (b"\r\n" + body).split(delimiter)
    if len(pieces) < 2 or not pieces[-1].startswith(b"--"):
        raise _broken("it does not end with its boundary")
    if len(pieces) > _MOST_PARTS + 2:
        raise _broken(f"it has more than {_MOST_PARTS} parts")
    parts = [_part(piece) for piece in pieces[1:-1]]
    if len({each.name for each in parts}) < len(parts):
        raise _broken("two parts have the same name")
    return parts


def _part(piece: bytes) -> Part:
    head, separator, body = piece.partition(b"\r\n\r\n")
    if not separator or head.strip(b" \t")[:2] != b"\r\n":
        raise _broken("a part has no headers")
    for line in head.decode(errors="replace").split("\r\n"):
        name, _, value = line.partition(":")
        if name.strip().lower() == "content-disposition" and value.strip().lower().startswith("form-data"):
            parameters = {key.lower(): text for key, text in _PARAMETER.findall(value)}
            if "name" in parameters:
                return Part(parameters["name"], parameters.get("filename"), body)
    raise _broken("a part has no name")


def _broken(reason: str) -> ApiError:
    return ApiError("invalid_form", f"The form is not valid multipart/form-data: {reason}.")
