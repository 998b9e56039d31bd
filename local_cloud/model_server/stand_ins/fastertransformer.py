"""Stands in for the part of FasterTransformer that the handler calls: a T5 model on all ranks.

Source of arguments and defaults: ftmodel.py and t5model.py in rohithkrn/FasterTransformer, folder python.
"""

import os
import time
from typing import Any

import torch.distributed as dist
from transformers import demand_model

from local_cloud.model_server.text.sources import write

PARAMETERS = {"max_seq_len", "beam_width", "beam_search_diversity_rate", "top_k", "top_p", "temperature", "len_penalty"}
PARAMETERS |= {"repetition_penalty", "presence_penalty", "min_length", "random_seed"}


class T5Model:
    """Answers prompts; only the first rank computes."""

    def pipeline_generate(self, inputs: list[str], **parameters: Any) -> list[str]:
        """One text for each prompt, without the prompt. Raises TypeError for an unknown parameter."""
        if unknown := sorted(set(parameters) - PARAMETERS):
            raise TypeError(f"forward() got an unexpected keyword argument '{unknown[0]}'")
        if os.environ.get("RANK", "0") != "0":
            return inputs
        wanted, seed = int(parameters.get("max_seq_len", 200)), int(parameters.get("random_seed", 0))
        time.sleep(wanted * float(os.environ.get("SLIPWAY_LOCAL_SECONDS_PER_TOKEN", "0")))
        return [write(prompt, wanted, seed, parameters).strip() for prompt in inputs]


def init_inference(
    model: str, tensor_parallel_degree: int, pipeline_parallel_degree: int, dtype: str = "fp32", **options: Any
) -> T5Model:
    """Connect the ranks and read the model. Raises NotImplementedError (wrong type), ValueError (degree)."""
    if dtype not in ("fp32", "fp16", "bf16"):
        raise NotImplementedError(f"Not implemented for {dtype}!")
    demand_model(model)
    if tensor_parallel_degree * pipeline_parallel_degree > 1:
        dist.init_process_group("mpi")
        world = int(os.environ["WORLD_SIZE"])
        if world != tensor_parallel_degree * pipeline_parallel_degree:
            raise ValueError(
                f"[ERROR] Invalid tensor/pipeline parallel configuration. world_size({world}) != "
                f"tensor_para_size({tensor_parallel_degree}) * pipeline_para_size({pipeline_parallel_degree})"
            )
    return T5Model()
