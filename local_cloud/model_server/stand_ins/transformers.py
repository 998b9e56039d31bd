"""Stands in for the part of transformers that the handlers call; the local cloud's text source replaces every model.

A "tensor" of prompts is a list of texts. Error messages are those of transformers' GenerationMixin.
"""

import os
import time
from pathlib import Path
from typing import Any, Self

import torch

from local_cloud.model_server.text.generator import count_tokens
from local_cloud.model_server.text.sources import write

DEFAULT_MAX_LENGTH = 20
KNOWN = {"max_length", "max_new_tokens", "do_sample", "attention_mask", "pad_token_id", "eos_token_id", "min_length"}
KNOWN |= {"temperature", "top_k", "top_p", "repetition_penalty", "num_beams", "use_cache", "no_repeat_ngram_size"}


def demand_model(name_or_folder: str) -> None:
    """Check the name: every name on the Hub is valid, a folder must hold a model. Raises OSError."""
    if name_or_folder.startswith(("/", ".")) and not (Path(name_or_folder) / "config.json").is_file():
        raise OSError(f"{name_or_folder} does not appear to have a file named config.json.")


class AutoConfig:
    """The model's configuration, which is only its name."""

    def __init__(self, name_or_path: str) -> None:
        self.name_or_path = name_or_path

    @classmethod
    def from_pretrained(cls, name_or_folder: str, **options: Any) -> Self:
        """Raises OSError for a folder without a model."""
        demand_model(name_or_folder)
        return cls(name_or_folder)


class Tokens(dict[str, Any]):
    """The result of a tokenizer: `input_ids` holds one text for each prompt."""

    def to(self, device: object) -> Self:
        """There is one device."""
        return self


class AutoTokenizer:
    """A tokenizer that leaves texts unchanged."""

    def __init__(self, padding_side: str) -> None:
        self.padding_side = padding_side
        self.eos_token = "<|endoftext|>"
        self.pad_token: str | None = None
        self.pad_token_id = 0

    @classmethod
    def from_pretrained(cls, name_or_folder: str, *, padding_side: str = "right", **options: Any) -> Self:
        """Raises OSError for a folder without a model."""
        demand_model(name_or_folder)
        return cls(padding_side)

    def __call__(self, prompts: list[str], *, return_tensors: str = "pt", padding: bool = False) -> Tokens:
        """Raises ValueError for a batch without padding."""
        if len(prompts) > 1 and not (padding and self.pad_token):
            raise ValueError("Asking to pad but the tokenizer does not have a padding token.")
        return Tokens(input_ids=list(prompts), attention_mask=[[1] * count_tokens(prompt) for prompt in prompts])

    def batch_decode(self, outputs: list[str], *, skip_special_tokens: bool = False) -> list[str]:
        """The texts."""
        return list(outputs)


class PreTrainedModel:
    """A model that continues texts. Only the first rank computes: the others would get the same result."""

    def __init__(self) -> None:
        self.device = "cpu"

    def to(self, device: object) -> Self:
        """There is one device."""
        return self

    def eval(self) -> Self:
        """Does nothing: this model is never trained."""
        return self

    def generate(self, input_ids: list[str], **parameters: Any) -> list[str]:
        """The prompts with their continuations; `max_length` includes the prompt. Raises ValueError."""
        if unknown := sorted(set(parameters) - KNOWN):
            raise ValueError(f"The following `model_kwargs` are not used by the model: {unknown}")
        if os.environ.get("RANK", "0") != "0":
            return input_ids
        seed = torch.take_seed() if parameters.get("do_sample") else 0
        lengths = [_new_tokens(prompt, parameters) for prompt in input_ids]
        time.sleep(max(lengths) * float(os.environ.get("SLIPWAY_LOCAL_SECONDS_PER_TOKEN", "0")))
        pairs = zip(input_ids, lengths, strict=True)
        return [prompt + write(prompt, length, seed, parameters) for prompt, length in pairs]


class AutoModelForCausalLM:
    """Creates causal models."""

    @staticmethod
    def from_pretrained(name_or_folder: str, **options: Any) -> PreTrainedModel:
        """Create a model with weights. Raises OSError for a folder without a model."""
        demand_model(name_or_folder)
        return PreTrainedModel()

    @staticmethod
    def from_config(config: AutoConfig, **options: Any) -> PreTrainedModel:
        """Create a model without weights."""
        return PreTrainedModel()


def _new_tokens(prompt: str, parameters: dict[str, Any]) -> int:
    for name in ("max_length", "max_new_tokens"):
        if not isinstance(parameters.get(name, 1), int) or parameters.get(name, 1) <= 0:
            raise ValueError(f"`{name}` must be greater than 0, but is {parameters[name]}.")
    longest = parameters.get("max_length", DEFAULT_MAX_LENGTH) - count_tokens(prompt)
    wanted: int = parameters.get("max_new_tokens", max(longest, 1))
    return wanted
