"""A handler for BLOOM and OPT on DeepSpeed, in DJL images 0.19.0 to 0.27.0.

engine=DeepSpeed runs it once per GPU. Properties: tensor_parallel_degree; dtype: fp16 (default), int8, bf16 or fp32;
checkpoint: a JSON file beside the weights (default ds_inference_config.json, if it exists); max_tokens: of prompt and
answer together (default 1024). weights.py says where the weights come from. Parameters of a request: those of
`generate` in transformers, and `seed`. A text begins with its prompt.
"""

from __future__ import annotations

import logging
import os
import random
from pathlib import Path
from typing import Any

import deepspeed
import torch
import torch.distributed as dist
from djl_python import Input, Output
from generation_request import answer
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer
from weights import fetch

DTYPES = {"fp16": torch.float16, "int8": torch.int8, "bf16": torch.bfloat16, "fp32": torch.float32}
SHARDS = "ds_inference_config.json"  # in Microsoft's pre-sharded BLOOM

model: Any = None
tokenizer: Any = None


def handle(inputs: Input) -> Output | None:
    """DJL calls this in every rank: once with an empty input to load the model, then with each request."""
    global model, tokenizer
    if model is None:
        model, tokenizer = load(inputs.get_properties())
    if inputs.is_empty():
        return None
    return answer(inputs, generate)


def load(properties: dict[str, Any]) -> tuple[Any, Any]:
    """Rank 0 downloads the weights; after a barrier each rank loads its shard. Raises in every rank or in none."""
    if "LOCAL_RANK" not in os.environ:
        raise RuntimeError("LOCAL_RANK is not set: DJL's launcher starts one process per GPU with engine=DeepSpeed")
    rank = int(os.environ["LOCAL_RANK"])
    weights = fetch(properties)
    torch.cuda.set_device(rank)  # before any collective, or all ranks use the first GPU
    deepspeed.init_distributed("nccl")
    dist.barrier()
    degree = int(properties.get("tensor_parallel_degree") or os.environ["TENSOR_PARALLEL_DEGREE"])
    dtype = DTYPES[properties.get("dtype", "fp16")]
    logging.info("rank %s of %s loads its shard of %s", rank, degree, weights)
    engine = deepspeed.init_inference(
        mp_size=degree,
        dtype=dtype,
        replace_with_kernel_inject=True,
        max_tokens=int(properties.get("max_tokens", 1024)),
        **source(weights, dtype, properties.get("checkpoint", SHARDS)),
    )
    reader = AutoTokenizer.from_pretrained(
        weights, padding_side="left"
    )  # the answer follows the prompt, not the padding
    reader.pad_token = reader.pad_token or reader.eos_token
    dist.barrier()  # all ranks are ready
    return engine.module, reader


def source(weights: str, dtype: Any, checkpoint: str) -> dict[str, Any]:
    """Arguments of `init_inference`: an empty model and its list of shards; without shards, the whole model."""
    half = torch.float16 if dtype is torch.int8 else dtype  # only the kernels know int8
    shards = Path(weights) / checkpoint
    if not shards.is_file():
        return {"model": AutoModelForCausalLM.from_pretrained(weights, torch_dtype=half, low_cpu_mem_usage=True).eval()}
    with deepspeed.OnDevice(dtype=half, device="meta"):
        empty = AutoModelForCausalLM.from_config(AutoConfig.from_pretrained(weights), torch_dtype=half)
    return {"model": empty.eval(), "checkpoint": str(shards), "base_dir": weights}


def generate(prompts: list[str], parameters: dict[str, Any]) -> list[str]:
    """One text for each prompt, which begins with the prompt."""
    # All ranks must sample the same tokens: they use the caller's seed, or one that rank 0 draws.
    seed = [parameters.pop("seed", random.getrandbits(31))]
    dist.broadcast_object_list(seed, src=0)
    torch.manual_seed(seed[0])
    tokens = tokenizer(prompts, return_tensors="pt", padding=True).to(torch.cuda.current_device())
    with torch.no_grad():
        outputs = model.generate(**tokens, **parameters)
    texts: list[str] = tokenizer.batch_decode(outputs, skip_special_tokens=True)
    return texts
