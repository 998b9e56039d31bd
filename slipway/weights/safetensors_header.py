"""Reads the header of a safetensors file, and demands that the file is as long as the header says.

The format: eight bytes with the header's length, then the header, a JSON object of tensors by name
(huggingface.co/docs/safetensors). The tensors fill the rest of the file without gaps: the library refuses any other
length with `MetadataIncompleteBuffer`, a gap or an overlap with `InvalidOffset`, and bytes that do not fit a shape with
`TensorInvalidInfo`.
"""

import json
import math
from typing import Any

from slipway.weights.source import Source, broken, demand_no_disguise

_FIRST_READ_IN_BYTES = 100_000  # longer than most headers, so that one request is enough
_LONGEST_HEADER_IN_BYTES = 100_000_000  # the format's own limit
# By type. Smaller and later ones are not judged.
_BITS = {
    **dict.fromkeys(("F64", "I64", "U64"), 64),
    **dict.fromkeys(("F32", "I32", "U32"), 32),
    **dict.fromkeys(("F16", "BF16", "I16", "U16"), 16),
    **dict.fromkeys(("F8_E4M3", "F8_E5M2", "I8", "U8", "BOOL"), 8),
}

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
    for name, tensor in tensors.items():
        _demand_its_bytes(source, path, name, tensor)
    if not tensors:
        raise broken(source, path, "it holds no tensors")
    _demand_no_gaps(source, path, tensors)
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


def _demand_its_bytes(source: Source, path: str, name: str, tensor: Header) -> None:
    (begin, end), bits = tensor["data_offsets"], _BITS.get(tensor["dtype"].upper())
    if bits and (needed := math.prod(tensor["shape"]) * bits // 8) != end - begin:
        raise broken(source, path, f"{name:.200} has {end - begin:,} bytes, and its shape needs {needed:,}")


def _demand_no_gaps(source: Source, path: str, tensors: Header) -> None:
    before = 0
    for begin, end in sorted(tensor["data_offsets"] for tensor in tensors.values()):
        if begin != before:
            problem = "two of its tensors overlap" if begin < before else "there is a gap between its tensors"
            raise broken(source, path, problem)
        before = end
