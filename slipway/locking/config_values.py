"""Reads single settings of a model's configuration, under any of the names that publishers give them."""

import json
import math
from collections.abc import Mapping
from typing import Any, TypeGuard

Config = Mapping[str, Any]

LAYERS = (
    "num_decoder_layers",
    "decoder_layers",
    "num_hidden_layers",
    "n_layer",
    "num_layers",
    "n_layers",
    "layers",
    "num_transformer_layers",
)
HEADS = (
    "decoder_attention_heads",
    "num_decoder_attention_heads",
    "num_attention_heads",
    "attention_heads",
    "n_head",
    "num_heads",
    "n_heads",
    "num_query_heads",
)
KV_HEADS = ("num_key_value_heads", "num_kv_heads", "n_head_kv", "num_attention_groups", "n_kv_heads")
HEAD_SIZE = ("attention_head_dim", "head_dim", "kv_channels", "d_kv")
HIDDEN = ("hidden_size", "n_embd", "d_model", "dim", "emb_dim", "embed_dim")
WIDTH = ("decoder_ffn_dim", "ffn_dim", "intermediate_size", "n_inner", "d_ff", "ffn_hidden_size", "hidden_dim")
VOCABULARY = ("vocab_size", "padded_vocab_size", "tgt_vocab_size")
CONTEXT = (
    "max_position_embeddings",
    "n_positions",
    "max_sequence_length",
    "max_seq_len",
    "seq_length",
    "n_ctx",
    "max_context_length",
    "context_length",
    "model_max_length",
    "max_target_positions",
)
WINDOW = ("sliding_window", "attention_chunk_size", "attention_window_size")
EXPERTS = ("num_local_experts", "num_experts", "n_routed_experts", "moe_num_experts", "num_routed_experts")
USED_EXPERTS = ("num_experts_per_tok", "num_experts_per_token", "moe_topk", "moe_top_k", "top_k_experts", "moe_k")
NAMES_OF_ONE = (LAYERS, HEADS, KV_HEADS, HEAD_SIZE, HIDDEN, WIDTH, VOCABULARY, CONTEXT, WINDOW, EXPERTS, USED_EXPERTS)
# Of states, latent vectors and periods of layers. Left out are names that may hold a word, such as `auto`.
_OTHER_COUNTS = {
    "attn_layer_period",
    "conv_kernel",
    "full_attention_interval",
    "global_head_dim",
    "index_head_dim",
    "index_topk",
    "kv_lora_rank",
    "linear_conv_kernel_dim",
    "linear_head_dim",
    "linear_key_head_dim",
    "linear_num_heads",
    "linear_num_key_heads",
    "linear_num_value_heads",
    "linear_value_head_dim",
    "mamba_d_conv",
    "mamba_d_ssm",
    "mamba_d_state",
    "mamba_head_dim",
    "mamba_n_heads",
    "mamba_num_heads",
    "mamba_step",
    "moe_intermediate_size",
    "n_mamba_heads",
    "num_global_key_value_heads",
    "qk_nope_head_dim",
    "qk_rope_head_dim",
    "short_conv_kernel_size",
    "ssm_state_size",
}
_COUNTS = {name for names in NAMES_OF_ONE for name in names} | _OTHER_COUNTS


class ConfigError(ValueError):
    """A value that no engine can compute with; the message is the rest of a sentence that begins with the file."""


def first(config: Config, *names: str) -> Any:
    """Return the first of these settings that is not null."""
    return next((config[name] for name in names if config.get(name) is not None), None)


def number(config: Config, *names: str) -> int | None:
    """Return the first value that is a positive whole number, or a list with the same number for each layer.

    Null, 0 and values for each layer are passed over; so is -1 or false for a window, which means none.
    Raises ConfigError for any other value of a setting that counts something.
    """
    for name in names:
        given = config.get(name)
        value = given[0] if _is_uniform(given) else given
        if type(value) is int and value > 0:
            return value
        if type(value) is float and value > 0 and value.is_integer():
            return int(value)
        is_none = not value or isinstance(value, list | Mapping) or (name in WINDOW and value == -1)
        if name in _COUNTS and ((value is False and name not in WINDOW) or not is_none):
            raise ConfigError(f"says {name}: {json.dumps(value)[:40]}; it must be a positive whole number")
    return None


def factor(config: Config, name: str) -> float | None:
    """Return a positive finite number; None = it is not set. Raises ConfigError for any other value."""
    value = config.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < math.inf:
        raise ConfigError(f"says {name}: {json.dumps(value)[:40]}; it must be a positive number")
    return float(value)


def mapping(value: Any) -> dict[str, Any]:
    """Return the settings in an object; empty = it is none."""
    return dict(value) if isinstance(value, Mapping) else {}


def _is_uniform(value: Any) -> TypeGuard[list[Any]]:
    return isinstance(value, list) and bool(value) and all(each == value[0] for each in value)
