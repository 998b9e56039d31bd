"""A handler for FLAN-T5 and FLAN-UL2 on FasterTransformer, in DJL images 0.21.0 to 0.24.0.

engine=FasterTransformer runs it once per GPU. Properties: tensor_parallel_degree; pipeline_parallel_degree (default 1);
dtype: fp32 (default), fp16 or bf16. weights.py says where the weights come from. Parameters of a request: those of
FasterTransformer's T5 (max_seq_len, beam_width, top_k, top_p, temperature, len_penalty, repetition_penalty,
random_seed), or the Hugging Face names below.
"""

from __future__ import annotations

import logging
from typing import Any

import fastertransformer as ft
from djl_python import Input, Output
from generation_request import answer
from weights import fetch

HUGGING_FACE_NAMES = {
    "max_new_tokens": "max_seq_len",
    "max_length": "max_seq_len",
    "num_beams": "beam_width",
    "length_penalty": "len_penalty",
    "seed": "random_seed",
}

model: Any = None


def handle(inputs: Input) -> Output | None:
    """DJL calls this in every rank: once with an empty input to load the model, then with each request."""
    global model
    if model is None:
        model = load(inputs.get_properties())
    if inputs.is_empty():
        return None
    return answer(inputs, generate)


def load(properties: dict[str, Any]) -> Any:
    """Each rank loads its shard; FasterTransformer connects the ranks itself."""
    weights = fetch(properties)
    degree = int(properties.get("tensor_parallel_degree", 1))
    stages = int(properties.get("pipeline_parallel_degree", 1))
    dtype = properties.get("dtype", "fp32")
    logging.info("loading %s as %s on %s x %s GPUs", weights, dtype, degree, stages)
    return ft.init_inference(weights, degree, stages, dtype)


def generate(prompts: list[str], parameters: dict[str, Any]) -> list[str]:
    """One text for each prompt, without the prompt."""
    named = {HUGGING_FACE_NAMES.get(name, name): value for name, value in parameters.items()}
    texts = model.pipeline_generate(prompts, **named)
    # Early releases return one list for each batch, later ones return texts.
    return [text for item in texts for text in (item if isinstance(item, list) else [item])]
