"""Exact parameters and bytes of a model, from the headers of its safetensors files."""

import math
import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from slipway.weights.safetensors_header import Header

# Scales and the like of quantized weights, by the last part of a tensor's name; each format has its own.
_BESIDE_WEIGHTS = re.compile(r"scale|zero|g_idx|absmax|quant_map|quant_state|bias_correction|weight_shape")
_HALF_BYTES = ("bitsandbytes4", "mxfp4", "nvfp4")


@dataclass(frozen=True)
class Weights:
    """Parameters and bytes by safetensors' names of types: `BF16`, `F8_E4M3`, `I32` and so on. parameters: of the
    model, unpacked. in_experts: of all experts of its mixtures, without shared ones; 0 = no name tells. modules: the
    last parts of the names of weights with two or more dimensions, without the words that formats add.
    """

    parameters: int
    in_experts: int
    bytes_by_dtype: dict[str, int]
    modules: list[str]


def weights_in(headers: Iterable[Header], quantization: str | None) -> Weights:
    """Count the weights in a header. quantization: the catalog's word; GPTQ and AWQ pack eight weights into 32 bits."""
    parameters, in_experts, sizes, modules = 0, 0, defaultdict[str, int](int), set[str]()
    for header in headers:
        for name, tensor in header.items():
            begin, end = tensor["data_offsets"]
            sizes[tensor["dtype"]] += end - begin
            modules |= {_module(name)} if len(tensor["shape"]) > 1 else set()
            if not (quantization and _BESIDE_WEIGHTS.search(name.rpartition(".")[2])):
                count = math.prod(tensor["shape"]) * _weights_in_one(tensor["dtype"], quantization)
                parameters += count
                in_experts += count if ".experts." in name else 0
    return Weights(parameters, in_experts, dict(sorted(sizes.items())), sorted(modules))


def _module(name: str) -> str:
    """Return `q_proj` for `model.layers.0.self_attn.q_proj.weight`, and for the same in packed formats."""
    module, _, last = name.rpartition(".")
    is_of_module = module and ("weight" in last or _BESIDE_WEIGHTS.search(last))
    return (module if is_of_module else name).rpartition(".")[2]


def _weights_in_one(dtype: str, quantization: str | None) -> int:
    if dtype in ("I32", "U32") and quantization in ("gptq", "awq"):
        return 8
    return 2 if dtype in ("U8", "I8") and quantization in _HALF_BYTES else 1
