"""Exact parameters and bytes of a model, from the headers of its safetensors files.

The format: eight bytes with the header's length, then the header, a JSON object of tensors by name
(huggingface.co/docs/safetensors).
"""

import json
import math
import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from slipway.locking.model_files import ModelFiles, UnreadableModelError

# Scales and the like of quantized weights, by the last part of a tensor's name; each format has its own.
_BESIDE_WEIGHTS = re.compile(r"scale|zero|g_idx|absmax|quant_map|quant_state|bias_correction|weight_shape")
_HALF_BYTES = ("bitsandbytes4", "mxfp4", "nvfp4")
_FIRST_READ_IN_BYTES = 100_000  # longer than most headers, so that one request is enough
_LONGEST_HEADER_IN_BYTES = 100_000_000  # the format's own limit

Header = dict[str, Any]


@dataclass(frozen=True)
class Weights:
    """Parameters and bytes by safetensors' names of types: `BF16`, `F8_E4M3`, `I32` and so on. parameters: of the
    model, unpacked.
    """

    parameters: int
    bytes_by_dtype: dict[str, int]


def header_of(model: ModelFiles, path: str, size: int) -> Header:
    """Read the header of a file. size: of the file. Raises UnreadableModelError, and the errors of `read`."""
    begin = model.read(path, 0, min(size, _FIRST_READ_IN_BYTES))
    length = int.from_bytes(begin[:8], "little")
    if len(begin) < 8 or length > min(size - 8, _LONGEST_HEADER_IN_BYTES):
        raise UnreadableModelError(f"{path} of {model.place} is broken: it has no safetensors header, or is cut.")
    text = begin[8 : 8 + length]
    if len(text) < length:
        text += model.read(path, 8 + len(text), length - len(text))
    try:
        header = json.loads(text)
        tensors = {name: tensor for name, tensor in header.items() if name != "__metadata__"}
        for tensor in tensors.values():
            _demand_sound(tensor)
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        raise UnreadableModelError(f"{path} of {model.place} is broken: its header is not a tensor table.") from None
    return tensors


def weights_in(headers: Iterable[Header], quantization: str | None) -> Weights:
    """Count the weights in a header. quantization: the catalog's word; GPTQ and AWQ pack eight weights into 32 bits."""
    parameters, sizes = 0, defaultdict[str, int](int)
    for header in headers:
        for name, tensor in header.items():
            begin, end = tensor["data_offsets"]
            sizes[tensor["dtype"]] += end - begin
            if not (quantization and _BESIDE_WEIGHTS.search(name.rpartition(".")[2])):
                parameters += math.prod(tensor["shape"]) * _weights_in_one(tensor["dtype"], quantization)
    return Weights(parameters, dict(sorted(sizes.items())))


def _demand_sound(tensor: Header) -> None:
    """Raise ValueError or another error for a tensor that can't exist."""
    shape, (begin, end) = tensor["shape"], tensor["data_offsets"]
    tensor["dtype"].upper()
    if begin > end or not all(type(each) is int and each >= 0 for each in (*shape, begin, end)):
        raise ValueError(tensor)


def _weights_in_one(dtype: str, quantization: str | None) -> int:
    if dtype in ("I32", "U32") and quantization in ("gptq", "awq"):
        return 8
    return 2 if dtype in ("U8", "I8") and quantization in _HALF_BYTES else 1
