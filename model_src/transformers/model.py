"""A handler for any causal language model of transformers, on one GPU or on the CPU; engine=Python runs it once.

Properties: dtype: fp32, fp16 or bf16 (default: as the weights are stored); revision. weights.py says where the weights
come from. Parameters of a request: those of `generate` in transformers, and `seed`. A text begins with its prompt.
"""

from __future__ import annotations

import logging
from typing import Any

import torch
from djl_python import Input, Output
from generation_request import answer
from transformers import AutoModelForCausalLM, AutoTokenizer
from weights import locate

DTYPES = {"fp32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16}

model: Any = None
tokenizer: Any = None


def handle(inputs: Input) -> Output | None:
    """DJL calls this once with an empty input to load the model, then with each request."""
    global model, tokenizer
    if model is None:
        model, tokenizer = load(inputs.get_properties())
    if inputs.is_empty():
        return None
    return answer(inputs, generate)


def load(properties: dict[str, Any]) -> tuple[Any, Any]:
    """Load the model, in evaluation mode, and its tokenizer."""
    weights, revision = locate(properties), properties.get("revision", "main")
    device = "cuda" if torch.cuda.is_available() else "cpu"
    dtype = DTYPES[properties["dtype"]] if "dtype" in properties else "auto"
    logging.info("loading %s as %s on %s", weights, dtype, device)
    reader = AutoTokenizer.from_pretrained(weights, revision=revision, padding_side="left")
    reader.pad_token = reader.pad_token or reader.eos_token  # a batch needs one; GPT-2 has none
    loaded = AutoModelForCausalLM.from_pretrained(weights, revision=revision, torch_dtype=dtype)
    return loaded.to(device).eval(), reader


def generate(prompts: list[str], parameters: dict[str, Any]) -> list[str]:
    """One text for each prompt, which begins with the prompt."""
    if "seed" in parameters:
        torch.manual_seed(parameters.pop("seed"))
    tokens = tokenizer(prompts, return_tensors="pt", padding=True).to(model.device)
    with torch.inference_mode():
        outputs = model.generate(**tokens, pad_token_id=tokenizer.pad_token_id, **parameters)
    texts: list[str] = tokenizer.batch_decode(outputs, skip_special_tokens=True)
    return texts
