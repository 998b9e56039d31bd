"""Reads facts of models whose layers are not all alike: recurrent states, and heads of layers without a window.

Sizes and number formats are those of vLLM (mamba_utils.py, models/config.py).
"""

from collections.abc import Mapping
from typing import Any

from slipway.locking.config_values import number

_WITH_STATE = ("linear_attention", "mamba", "hybrid")
_BOTH_IN_EACH_LAYER = "falcon_h1"
_KERNELS = ("linear_conv_kernel_dim", "short_conv_kernel_size", "mamba_d_conv", "conv_kernel")
_USUAL_KERNEL = 4
_WIDE, _NARROW = 4, 2  # bytes of float32, and of the model's own type


def uneven_layers(text: Mapping[str, Any], layers_with_cache: int | None) -> dict[str, int | None]:
    """The facts of `ModelShape` about such layers; None = the model has none, or its configuration does not tell.

    text: the settings of the part that generates text.
    """
    state = _state_in_bytes(text)
    # Compressed attention (DeepSeek-V4) keeps part of the tokens, so no number of layers tells its cache.
    unlike = {"layers": None} if text.get("compress_ratios") else {}
    return {
        **unlike,
        "layers_with_state": _layers_with_state(text, layers_with_cache) if state else None,
        "state_in_bytes": state,
        "kv_heads_without_window": number(text, "num_global_key_value_heads") if text.get("attention_k_eq_v") else None,
        "head_size_without_window": number(text, "global_head_dim"),
    }


def _state_in_bytes(text: Mapping[str, Any]) -> int | None:
    """One layer's state for one request: the inputs of a short convolution, and the state itself."""
    linear = text.get("linear_attn_config")
    named = {**text, **linear} if isinstance(linear, Mapping) else text
    sizes = _gated_delta_net(named) or _kimi_delta_attention(named, linear) or _mamba(named)
    if sizes is None:
        return None
    convolved, state, width = sizes
    return convolved * ((number(named, *_KERNELS) or _USUAL_KERNEL) - 1) * _NARROW + state * width


def _gated_delta_net(text: Mapping[str, Any]) -> tuple[int, int, int] | None:
    """Qwen3-Next and its successors: values that pass the convolution, values of the state, bytes of one."""
    keys, key_size = number(text, "linear_num_key_heads"), number(text, "linear_key_head_dim")
    values, value_size = number(text, "linear_num_value_heads"), number(text, "linear_value_head_dim")
    if not (keys and key_size and values and value_size):
        return None
    width = _WIDE if text.get("mamba_ssm_dtype") == "float32" else _NARROW
    return 2 * keys * key_size + values * value_size, values * value_size * key_size, width


def _kimi_delta_attention(text: Mapping[str, Any], linear: object) -> tuple[int, int, int] | None:
    """As above, of Kimi Linear, which keeps the state in float32."""
    names = ("num_heads", "head_dim") if linear else ("linear_num_heads", "linear_head_dim")
    heads, size = (number(text, name) for name in names)
    return (3 * heads * size, heads * size * size, _WIDE) if heads and size else None


def _mamba(text: Mapping[str, Any]) -> tuple[int, int, int] | None:
    """As above, of Mamba 1 (Jamba, without groups) and Mamba 2."""
    state, hidden = number(text, "ssm_state_size", "mamba_d_state"), number(text, "hidden_size")
    heads = number(text, "mamba_num_heads", "mamba_n_heads", "n_mamba_heads")
    size = number(text, "mamba_head_dim", "mamba_d_head", "mamba_headdim")
    expanded = (number(text, "mamba_expand", "expand") or 0) * (hidden or 0)
    inner = number(text, "mamba_d_ssm") or (heads * size if heads and size else expanded)
    if not (state and inner):
        return None
    groups = number(text, "n_groups", "mamba_n_groups", "mamba_ngroups") or 0
    is_nemotron = str(text.get("model_type")).startswith("nemotron_h")
    kind = text.get("mamba_ssm_cache_dtype", "float32") if is_nemotron else None
    return inner + 2 * groups * state, inner * state, _WIDE if kind == "float32" else _NARROW


def _layers_with_state(text: Mapping[str, Any], layers_with_cache: int | None) -> int | None:
    linear = text.get("linear_attn_config")
    for kinds in (text.get("layer_types"), text.get("layers_block_type")):
        if isinstance(kinds, list):
            return sum(kind in _WITH_STATE for kind in kinds)
    if isinstance(pattern := text.get("hybrid_override_pattern"), str):  # Nemotron-H
        return pattern.count("M")
    if isinstance(linear, Mapping) and isinstance(layers := linear.get("kda_layers"), list):
        return len(layers)
    total = number(text, "num_hidden_layers")
    if total is None or layers_with_cache is None or text.get("model_type") == _BOTH_IN_EACH_LAYER:
        return layers_with_cache
    return max(0, total - layers_with_cache)
