"""Stands in for the part of DeepSpeed's inference that the handler calls: ranks, shards, the model as `module`."""

import contextlib
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist


@dataclass(frozen=True)
class InferenceEngine:
    """The model that init_inference made."""

    module: Any


def init_distributed(dist_backend: str = "nccl") -> None:
    """Connect the ranks."""
    dist.init_process_group(dist_backend)


@contextlib.contextmanager
def OnDevice(dtype: torch.dtype, device: str) -> Iterator[None]:
    """A context in which models are created without weights."""
    yield


def init_inference(
    model: Any,
    *,
    mp_size: int,
    dtype: torch.dtype,
    checkpoint: str | None = None,
    base_dir: str = "",
    replace_with_kernel_inject: bool = False,
    max_tokens: int = 1024,
) -> InferenceEngine:
    """Read this rank's shard. Raises AssertionError for a wrong degree, OSError for a missing shard."""
    world = int(os.environ["WORLD_SIZE"])
    assert mp_size == world, f"the tensor parallel degree is {mp_size}, but {world} ranks were launched"
    if checkpoint:
        shards = json.loads(Path(checkpoint).read_text())["checkpoints"]
        rank = int(os.environ["RANK"])
        own = [name for name in shards["tp"] if name.startswith(f"tp_{rank:02}_")]
        read = sum((Path(base_dir) / name).stat().st_size for name in [*shards["non_tp"], *own])
        print(f"rank {rank} reads {', '.join(own)}: {read} bytes", flush=True)
    return InferenceEngine(model)
