"""Reads a LoRA adapter from the files that PEFT saves: adapter_config.json and adapter_model.safetensors.

vLLM reads the same two files (its lora/peft_helper.py and lora/lora_model.py), and refuses tensors with other names
than those of LoRA.
"""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from llm_hosting.deployment.printable import printable
from slipway.weights.safetensors_header import Header, header_of
from slipway.weights.source import BrokenWeightsError, Source, broken
from slipway.weights.whole import json_object

CONFIG, WEIGHTS = "adapter_config.json", "adapter_model.safetensors"
FILES = (CONFIG, WEIGHTS)
_PICKLED = "adapter_model.bin"
_TENSOR = re.compile(
    r"(?P<path>.*?(?P<module>\w+))(\.base_layer)?\.lora_(?P<end>A\.weight|B\.weight|embedding_A|embedding_B)"
)
_LAYER = re.compile(r"\.(?:layers|h|blocks|layer)\.(\d+)\.")
_LARGEST_RANK, _SHOWN = 100_000, 3


@dataclass(frozen=True)
class Adapter:
    """The facts of an adapter.

    base: the base model's id, or the path that it had at the training; None = not stated. base_revision: as PEFT saves
    it; None = not stated.
    rank: the largest rank of any module. target_modules: as adapter_config.json states them; a text is a pattern.
    dtype: safetensors' name of the type of most bytes.
    bytes: of the weights' file.
    layers: one more than the largest number of a layer; 0 = the names of the tensors number no layers.
    modules: inputs and outputs of each adapted module, by the last part of its name; the largest of all layers.
    others: names of tensors that are not of LoRA, at most three.
    """

    base: str | None
    base_revision: str | None
    rank: int
    alpha: float
    target_modules: tuple[str, ...] | str
    modules_to_save: tuple[str, ...]
    use_dora: bool
    dtype: str
    bytes: int
    layers: int
    modules: Mapping[str, tuple[int, int]]
    others: tuple[str, ...]


def read_adapter(source: Source, sizes: Mapping[str, int]) -> Adapter:
    """Read an adapter's settings and the header of its weights. sizes: of the files there, in bytes by path.

    Raises BrokenWeightsError for files that are no whole LoRA adapter, and the errors of `read`.
    """
    for path in FILES:
        if path not in sizes:
            raise _missing(source, path, sizes)
    config = printable(json_object(source, CONFIG, sizes[CONFIG]))
    rank, alpha = config.get("r"), config.get("lora_alpha")
    if config.get("peft_type") not in (None, "LORA"):
        raise broken(source, CONFIG, f"its peft_type is {config['peft_type']!r:.40}, and only LORA is an adapter here")
    if type(rank) is not int or not 0 < rank < _LARGEST_RANK:
        raise broken(source, CONFIG, f"r, the rank, is {rank!r:.40}, which must be a positive whole number")
    if isinstance(alpha, bool) or not isinstance(alpha, int | float) or not math.isfinite(alpha):
        raise broken(source, CONFIG, f"lora_alpha is {alpha!r:.40}, which must be a number")
    header = header_of(source, WEIGHTS, sizes[WEIGHTS])
    ranks, modules, others = _modules(source, header)
    return Adapter(
        base=_text(config, "base_model_name_or_path"),
        base_revision=_text(config, "revision"),
        rank=max(rank, *ranks),
        alpha=alpha,
        target_modules=_target(source, config),
        modules_to_save=_names(source, config, "modules_to_save"),
        use_dora=bool(config.get("use_dora")),
        dtype=_dtype(header),
        bytes=sizes[WEIGHTS],
        layers=max((int(match[1]) + 1 for name in header if (match := _LAYER.search(name))), default=0),
        modules=modules,
        others=tuple(printable(others[:_SHOWN])),
    )


def _missing(source: Source, path: str, sizes: Mapping[str, int]) -> BrokenWeightsError:
    if path == WEIGHTS and _PICKLED in sizes:
        problem = f"{source.place} holds {_PICKLED}, a pickle file, and no {WEIGHTS}"
        return BrokenWeightsError(problem, "save the adapter with PEFT's safe_serialization=True")
    found = ", ".join(sorted(sizes)[:_SHOWN]) or "nothing"
    fix = f"put {CONFIG} and {WEIGHTS} there, as PEFT saves them, or name another place"
    return BrokenWeightsError(f"{source.place} lacks {path} of a LoRA adapter, and holds {found}", fix)


def _modules(source: Source, header: Header) -> tuple[list[int], dict[str, tuple[int, int]], list[str]]:
    """Return the ranks, inputs and outputs of each kind of module, and the tensors that are not of LoRA."""
    ranks, modules, others = list[int](), dict[str, tuple[int, int]](), list[str]()
    for name, tensor in sorted(header.items()):
        match, shape = _TENSOR.fullmatch(name), tensor["shape"]
        if match is None:
            others.append(name)
            continue
        if len(shape) != 2 or not all(shape):
            raise broken(source, WEIGHTS, f"{name:.200} has the shape {shape!r:.40}, and must have two sizes")
        inputs, outputs = modules.get(match["module"], (0, 0))
        if match["end"] in ("A.weight", "embedding_A"):
            # PEFT stacks the adapters of all experts of a mixture in one tensor.
            ranks += [] if ".experts" in name else [shape[0]]
            modules[match["module"]] = max(inputs, shape[1]), outputs
        else:
            modules[match["module"]] = inputs, max(outputs, shape[0])
    if not modules:
        raise broken(source, WEIGHTS, "it holds no tensors of LoRA (lora_A, lora_B)")
    return ranks, dict(sorted(modules.items())), others


def _target(source: Source, config: Mapping[str, Any]) -> tuple[str, ...] | str:
    given = config.get("target_modules")
    return given if isinstance(given, str) else tuple(sorted(_names(source, config, "target_modules")))


def _names(source: Source, config: Mapping[str, Any], key: str) -> tuple[str, ...]:
    names = config.get(key) or []
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise broken(source, CONFIG, f"{key} is {names!r:.40}, which must be a list of names")
    return tuple(names)


def _text(config: Mapping[str, Any], key: str) -> str | None:
    value = config.get(key)
    return value if isinstance(value, str) and value else None


def _dtype(header: Header) -> str:
    sizes: dict[str, int] = {}
    for tensor in header.values():
        begin, end = tensor["data_offsets"]
        sizes[tensor["dtype"]] = sizes.get(tensor["dtype"], 0) + end - begin
    return max(sizes, key=lambda dtype: sizes[dtype])
