"""A causal language model of transformers on the CPU, with its tokenizer and its default sampling."""

from __future__ import annotations

import inspect
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, DynamicCache
from transformers.utils.logging import disable_progress_bar

from .request import RequestError, Sampling

_CPU_FACTS = Path("/proc/cpuinfo")
_BF16_FLAGS = {"avx512_bf16", "amx_bf16", "bf16"}  # x86-64, x86-64, Graviton


class LanguageModel:
    """A loaded model.

    name: the name in answers. context: the most tokens of a prompt and its answer together. defaults: for requests that
    do not say how to sample. ends: tokens that end an answer.
    """

    def __init__(self, model: Any, tokenizer: Any, name: str, context: int, defaults: Sampling) -> None:
        self.name, self.context, self.defaults = name, context, defaults
        ends = model.generation_config.eos_token_id
        self.ends = frozenset(ends if isinstance(ends, list) else [] if ends is None else [ends])
        self._model, self._tokenizer = model, tokenizer
        # BLOOM takes no positions: it derives them from the mask.
        self._takes_positions = "position_ids" in inspect.signature(model.forward).parameters

    def tokens_of(self, form: str, prompt: Any, template_arguments: Mapping[str, Any]) -> list[int]:
        """The tokens of a text, or of messages by the chat template. Raises RequestError."""
        if form != "messages":
            return list(self._tokenizer(prompt)["input_ids"])
        if not self._tokenizer.chat_template:
            raise RequestError("messages", 'this model has no chat template; send "inputs" or "prompt"')
        reserved = inspect.signature(self._tokenizer.apply_chat_template).parameters.keys()
        if taken := sorted(template_arguments.keys() & reserved):
            raise RequestError(f"chat_template_kwargs.{taken[0]}", "is not for callers to set; remove it")
        try:
            text = self._tokenizer.apply_chat_template(
                prompt, add_generation_prompt=True, tokenize=False, **template_arguments
            )
        except Exception as error:  # a template raises errors of Jinja, or fails on unexpected messages
            raise RequestError("messages", f"the model's chat template refuses them ({type(error).__name__})") from None
        return list(self._tokenizer(text, add_special_tokens=False)["input_ids"])  # the template adds them

    def text_of(self, tokens: list[int]) -> str:
        """The text of tokens, without special tokens."""
        text: str = self._tokenizer.decode(tokens, skip_special_tokens=True, clean_up_tokenization_spaces=False)
        return text

    def new_cache(self) -> Any:
        """An empty key-value cache."""
        return DynamicCache(config=self._model.config)

    def forward(self, tokens: torch.Tensor, mask: torch.Tensor, cache: Any) -> torch.Tensor:
        """Logits of the last position, rows x vocabulary. The tokens are added to the cache.

        mask: 1 for each token in the cache and in `tokens`, 0 for padding on the left. Raises FloatingPointError if
        a logit is not finite.
        """
        arguments = {"input_ids": tokens, "attention_mask": mask, "past_key_values": cache, "use_cache": True}
        if self._takes_positions:
            arguments["position_ids"] = (mask.cumsum(-1) - 1).clamp(min=0)[:, -tokens.shape[1] :]
        logits: torch.Tensor = self._model(**arguments, logits_to_keep=1).logits[:, -1]
        if not logits.isfinite().all():
            raise FloatingPointError("the model's logits are not finite")
        return logits

    def cache_bytes_per_token(self) -> float:
        """Bytes of key-value cache for one token, measured."""
        cache, one = self.new_cache(), torch.ones(1, 1, dtype=torch.long)
        with torch.inference_mode():
            self.forward(one, one, cache)
        # Layers of Mamba have no keys.
        attention = [layer for layer in cache.layers if getattr(layer, "keys", None) is not None]
        return float(sum(layer.keys.nbytes + layer.values.nbytes for layer in attention)) or 1.0


def load(folder: Path, name: str, max_model_len: int | None) -> LanguageModel:
    """Load a model; max_model_len shortens its context. Raises what transformers raises for a bad folder."""
    disable_progress_bar()
    tokenizer = AutoTokenizer.from_pretrained(folder, trust_remote_code=False)  # False: it must not ask on a terminal
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=_dtype(folder), trust_remote_code=False).eval()
    own = getattr(model.config, "max_position_embeddings", None)
    context = min(length for length in (own, max_model_len, 2**31) if length)
    return LanguageModel(model, tokenizer, name, context, _defaults(folder))


def _dtype(folder: Path) -> torch.dtype:
    """bfloat16 if the weights are stored so and the CPU computes with it; elsewhere it is slower than float32."""
    config = _json(folder / "config.json")
    stored = config.get("dtype") or config.get("torch_dtype")
    flags = set(_CPU_FACTS.read_text().split()) if _CPU_FACTS.exists() else set()
    return torch.bfloat16 if stored == "bfloat16" and flags & _BF16_FLAGS else torch.float32


def _defaults(folder: Path) -> Sampling:
    """The sampling that generation_config.json recommends; plain sampling if it recommends none."""
    config = _json(folder / "generation_config.json")
    temperature, top_k, top_p = config.get("temperature"), config.get("top_k"), config.get("top_p")
    return Sampling(1.0 if temperature is None else float(temperature), int(top_k or 0), float(top_p or 1.0))


def _json(path: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    return content
