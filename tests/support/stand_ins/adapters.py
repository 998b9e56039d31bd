"""The files of small LoRA adapters, as PEFT saves them."""

import io
import json
import tarfile
from collections.abc import Mapping
from typing import Any

from support.stand_ins.hub_models import safetensors

CONFIG: dict[str, Any] = {
    "base_model_name_or_path": "Qwen/Qwen3-4B",
    "lora_alpha": 32,
    "modules_to_save": None,
    "peft_type": "LORA",
    "r": 16,
    "target_modules": ["v_proj", "q_proj"],
    "use_dora": False,
}


def tensors(rank: int = 16, hidden: int = 64, layers: int = 2) -> dict[str, tuple[str, list[int], int]]:
    """Return type, shape and size of the tensors of an adapter of q_proj and v_proj."""
    named = {}
    for layer in range(layers):
        for module in ("q_proj", "v_proj"):
            name = f"base_model.model.model.layers.{layer}.self_attn.{module}"
            named[f"{name}.lora_A.weight"] = ("BF16", [rank, hidden], 2 * rank * hidden)
            named[f"{name}.lora_B.weight"] = ("BF16", [hidden, rank], 2 * rank * hidden)
    return named


def adapter_files(config: dict[str, Any] | None = None, **shape: int) -> dict[str, bytes]:
    """Return the two files of an adapter. config: settings that differ from `CONFIG`."""
    settings = CONFIG | {"r": shape.get("rank", 16)} | (config or {})
    return {
        "adapter_config.json": json.dumps(settings).encode(),
        "adapter_model.safetensors": safetensors(tensors(**shape)),
    }


def packed(files: Mapping[str, bytes], claimed: Mapping[str, int] | None = None) -> bytes:
    """Return a tar.gz. claimed: files of which it has the header alone, with their sizes."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
        for name, size in (claimed or {}).items():
            member = tarfile.TarInfo(name)
            member.size = size
            tar.fileobj.write(member.tobuf())
    return buffer.getvalue()
