"""Facts of a model, from the metadata of its GGUF file."""

import math
from typing import Any

_LONGEST_TEXT = 100


def is_model(metadata: dict[str, Any]) -> bool:
    """Whether the file is a model: not an adapter, and not the part that reads images (`mmproj`)."""
    kind, architecture = metadata.get("general.type", "model"), metadata.get("general.architecture")
    return kind not in ("adapter", "mmproj", "imatrix") and architecture != "clip"


def short_metadata(metadata: dict[str, Any]) -> dict[str, Any]:
    """The metadata without the tokenizer and long texts."""
    return {
        key: value
        for key, value in sorted(metadata.items())
        if not key.startswith("tokenizer.")
        and (math.isfinite(value) if isinstance(value, float) else isinstance(value, int | str))
        and len(str(value)) <= _LONGEST_TEXT
    }


def facts_of_gguf(metadata: dict[str, Any]) -> dict[str, Any]:
    """Return facts of `ModelShape`, with the architecture as GGUF names it; None = the file does not tell."""
    architecture = str(metadata.get("general.architecture", ""))

    def each_of(name: str) -> list[int]:
        """Return the numbers under this key: one for all layers, or one for each layer."""
        found = metadata.get(f"{architecture}.{name}")
        return [each for each in (found if isinstance(found, list) else [found]) if isinstance(each, int)]

    def of(name: str) -> int | None:
        return max(each_of(name), default=0) or None

    heads, kv_heads, hidden = of("attention.head_count"), of("attention.head_count_kv"), of("embedding_length")
    layers = of("block_count")
    if len(by_layer := each_of("attention.head_count_kv")) > 1:  # 0 = a layer without a cache
        layers = sum(bool(each) for each in by_layer)
    elif layers and (period := of("full_attention_interval")):  # the layers between keep a state
        layers = (layers - (of("nextn_predict_layers") or 0)) // period
    elif any(key.startswith(f"{architecture}.ssm.") for key in metadata):
        layers = None  # the file does not tell which of them have a cache
    # The compressed form of latent attention has one head, whose values are a part of its keys (llama.cpp#19067).
    is_latent = of("attention.kv_lora_rank") and kv_heads == 1
    return {
        "architecture": architecture,
        "layers": layers,
        "heads": heads,
        "kv_heads": kv_heads or heads,
        "head_size": of("attention.key_length") or (hidden // heads if hidden and heads else None),
        "hidden_size": hidden,
        "intermediate_size": of("expert_feed_forward_length") or of("feed_forward_length"),
        "vocabulary": of("vocab_size") or _count(metadata.get("tokenizer.ggml.tokens")),
        "context": of("context_length"),
        "sliding_window": of("attention.sliding_window"),
        "latent_size": of("attention.key_length") if is_latent else None,
        "dtype": None,
        "experts": of("expert_count"),
        "experts_per_token": of("expert_used_count"),
    }


def _count(value: Any) -> int | None:
    return len(value) if isinstance(value, list) else value if isinstance(value, int) else None
