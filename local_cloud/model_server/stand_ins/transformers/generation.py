"""A causal language model whose every checkpoint is the local language model."""

import functools
import os
import time
from typing import Any, Self

import torch

from local_cloud.model_server.language_model import LanguageModel, Sampling, count_tokens

from .pretrained import AutoConfig, demand_model

DEFAULT_MAX_LENGTH = 20
KNOWN = {"max_length", "max_new_tokens", "do_sample", "temperature", "top_k", "top_p", "repetition_penalty"}
IGNORED = {
    "attention_mask",
    "pad_token_id",
    "eos_token_id",
    "min_length",
    "num_beams",
    "use_cache",
    "no_repeat_ngram_size",
}


class Model:
    """Continues texts. In a launch of several ranks only the first computes: the others would compute the same."""

    def __init__(self) -> None:
        self.device = "cpu"

    def to(self, device: object) -> Self:
        """There is one device."""
        return self

    def eval(self) -> Self:
        """Nothing trains here."""
        return self

    def generate(self, input_ids: list[str], **parameters: Any) -> list[str]:
        """Prompts with their continuations; `max_length` counts the prompt. Raises ValueError."""
        if unknown := sorted(set(parameters) - KNOWN - IGNORED):
            raise ValueError(f"The following `model_kwargs` are not used by the model: {unknown}")
        sampling = _sampling(parameters)
        if os.environ.get("RANK", "0") != "0":
            return input_ids
        texts = [prompt + _continuation(prompt, sampling, parameters) for prompt in input_ids]
        steps = max(count_tokens(text) - count_tokens(prompt) for text, prompt in zip(texts, input_ids, strict=True))
        time.sleep(steps * float(os.environ.get("SLIPWAY_LOCAL_SECONDS_PER_TOKEN", "0")))
        return texts


class AutoModelForCausalLM:
    """Any causal model."""

    @staticmethod
    def from_pretrained(name_or_folder: str, **options: Any) -> Model:
        """With its weights. Raises OSError for a folder without a model."""
        demand_model(name_or_folder)
        return Model()

    @staticmethod
    def from_config(config: AutoConfig, **options: Any) -> Model:
        """Without weights."""
        return Model()


@functools.cache
def language_model() -> LanguageModel:
    """Made when the first text is: ranks that compute nothing need none."""
    return LanguageModel()


def _continuation(prompt: str, sampling: Sampling, parameters: dict[str, Any]) -> str:
    longest = parameters.get("max_length", DEFAULT_MAX_LENGTH) - count_tokens(prompt)
    wanted = parameters.get("max_new_tokens", max(longest, 1))
    limited = Sampling(**{**vars(sampling), "max_new_tokens": wanted, "seed": torch.take_seed()})
    return language_model().generate(prompt, limited).text


def _sampling(parameters: dict[str, Any]) -> Sampling:
    """Greedy unless `do_sample`, whatever else is given."""
    for name in ("max_length", "max_new_tokens"):
        if not isinstance(parameters.get(name, 1), int) or parameters.get(name, 1) <= 0:
            raise ValueError(f"`{name}` must be greater than 0, but is {parameters[name]}.")
    penalty = float(parameters.get("repetition_penalty", 1.0))
    if not parameters.get("do_sample"):
        return Sampling(temperature=0, repetition_penalty=penalty)
    temperature = parameters.get("temperature", 1.0)
    if not isinstance(temperature, int | float) or temperature <= 0:
        raise ValueError(f"`temperature` (={temperature}) has to be a strictly positive float")
    if not 0 < parameters.get("top_p", 1.0) <= 1:
        raise ValueError(f"`top_p` has to be a float > 0 and < 1, but is {parameters['top_p']}")
    return Sampling(
        temperature=temperature,
        top_k=parameters.get("top_k", 50),
        top_p=parameters.get("top_p", 1.0),
        repetition_penalty=penalty,
    )
