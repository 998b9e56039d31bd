"""Reads the header of a safetensors file, and demands that the file is as long as the header says.

The format: eight bytes with the header's length, then the header, a JSON object of tensors by name
(huggingface.co/docs/safetensors). The tensors fill the rest of the file: the library refuses any other length with
`MetadataIncompleteBuffer`.
"""

import json
from typing import Any

from slipway.weights.source import Source, broken, demand_no_disguise

_FIRST_READ_IN_BYTES = 100_000  # longer than most headers, so that one request is enough
_LONGEST_HEADER_IN_BYTES = 100_000_000  # the format's own limit

Header = dict[str, Any]


def header_of(source: Source, path: str, size: int) -> Header:
    """Read the header of a file. size: of the file. Raises BrokenWeightsError, and the errors of `read`."""
    begin = source.read(path, 0, min(size, _FIRST_READ_IN_BYTES)) if size else b""  # S3 has no empty ranges
    demand_no_disguise(source, path, begin)
    length = int.from_bytes(begin[:8], "little")
    if len(begin) < 8 or length > min(size - 8, _LONGEST_HEADER_IN_BYTES):
        raise broken(source, path, "it has no safetensors header, or is cut")
    text = begin[8 : 8 + length]
    if len(text) < length:
        text += source.read(path, 8 + len(text), length - len(text))
    try:
        header = json.loads(text)
        tensors = {name: tensor for name, tensor in header.items() if name != "__metadata__"}
        for tensor in tensors.values():
            _demand_sound(tensor)
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        raise broken(source, path, "its header is not a tensor table") from None
    if not tensors:
        raise broken(source, path, "it holds no tensors")
    described = 8 + length + max(tensor["data_offsets"][1] for tensor in tensors.values())
    if described != size:
        raise broken(source, path, f"it has {size:,} bytes, and its header describes {described:,}")
    return tensors


def _demand_sound(tensor: Header) -> None:
    """Raise ValueError or another error for a tensor that can't exist."""
    shape, (begin, end) = tensor["shape"], tensor["data_offsets"]
    tensor["dtype"].upper()
    if begin > end or not all(type(each) is int and each >= 0 for each in (*shape, begin, end)):
        raise ValueError(tensor)
