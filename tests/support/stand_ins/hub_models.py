"""The files of a model's repository on the Hub, with small weights."""

import json
import math
import struct
from typing import Any

MODEL = "my-org/tuned-gptq"
CONFIG = {
    "architectures": ["LlamaForCausalLM"],
    "num_hidden_layers": 2,
    "num_attention_heads": 8,
    "num_key_value_heads": 2,
    "hidden_size": 256,
    "intermediate_size": 512,
    "vocab_size": 1000,
    "max_position_embeddings": 4096,
    "torch_dtype": "float16",
}
GPTQ = {"quantization_config": {"quant_method": "gptq", "bits": 4, "group_size": 128}}
_F16 = 1  # GGUF's number of the type
_LARGE = 100_000  # from this size in bytes a file lies in storage, not in git


def safetensors(tensors: dict[str, tuple[str, list[int], int]]) -> bytes:
    """Return a safetensors file. `tensors`: type, shape and size in bytes, by name."""
    header, end = {}, 0
    for name, (dtype, shape, size) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [end, end + size]}
        end += size
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + bytes(end)


def gguf(metadata: dict[str, Any], tensors: dict[str, list[int]]) -> bytes:
    """Return a GGUF file of version 3.

    `metadata`: numbers, texts, and lists of either.
    `tensors`: shapes by name, of 16-bit weights.
    """
    pairs = b"".join(_text(key) + _typed(value) for key, value in metadata.items())
    table, end = b"", 0
    for name, shape in tensors.items():
        table += _text(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape, _F16, end)
        end += 2 * math.prod(shape)
    header = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(metadata)) + pairs + table
    return header + bytes(-len(header) % 32 + end)


def _typed(value: Any) -> bytes:
    kind, body = _value(value[0] if isinstance(value, list) else value)
    if not isinstance(value, list):
        return struct.pack("<I", kind) + body
    return struct.pack("<IIQ", 9, kind, len(value)) + b"".join(_value(each)[1] for each in value)


def _value(value: Any) -> tuple[int, bytes]:
    if isinstance(value, str):
        return 8, _text(value)
    return (6, struct.pack("<f", value)) if isinstance(value, float) else (4, struct.pack("<I", value))


def _text(text: str) -> bytes:
    return struct.pack("<Q", len(text.encode())) + text.encode()


def files(config: dict[str, Any] = CONFIG) -> dict[str, bytes]:
    """Return the files of a repository whose weights lie in two shards."""
    return {
        "config.json": json.dumps(config).encode(),
        "tokenizer_config.json": b'{"chat_template": "{{ messages }}"}',
        "model-00001-of-00002.safetensors": safetensors({"a": ("F16", [250, 1000], 500_000)}),
        "model-00002-of-00002.safetensors": safetensors({"b": ("F16", [50, 1000], _LARGE)}),
        "README.md": b"Not for engines.",
    }
