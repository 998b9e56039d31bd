"""Fills settings that a configuration leaves out with the values that transformers' class of its model_type takes."""

import json
from functools import cache
from pathlib import Path
from typing import Any

from slipway.locking.config_values import NAMES_OF_ONE, Config, first, number

# Each of these says which layers have attention or a window, so the usual pattern does not hold.
_PATTERNS = (
    "layer_types",
    "layers_block_type",
    "sliding_window_pattern",
    "full_attention_interval",
    "hybrid_override_pattern",
    "attn_layer_period",
    "attn_layer_indices",
    "attn_type_list",
    "full_attn_idxs",
    "linear_attn_config",
    "mamba_step",
    "no_rope_layers",
    "block_types",
    "block_configs",
)
_MOST_LAYERS = 10_000


def text_type(model_type: object, part: Config) -> str | None:
    """Return the model_type of the part that generates text; None = it is not named.

    model_type: of the whole model, which implies that of a part that does not name its own.
    """
    named = first({"part": part.get("model_type"), "whole": model_type}, "part", "whole")
    if not isinstance(named, str):
        return None
    inner = _defaults()["text_parts"].get(named)
    return text_type(inner, {}) if inner else named


def filled(part: Config, model_type: str | None) -> Config:
    """Return the configuration of this model_type with all settings that its class knows."""
    defaults = dict(_defaults()["types"].get(model_type, {}))
    cycle = defaults.pop("layer_types", None)
    missing = {name: value for name, value in defaults.items() if not any(each in part for each in _names(name))}
    whole = {**missing, **part, "model_type": model_type}
    layers = number(whole, "num_hidden_layers") or 0
    if cycle and first(part, *_PATTERNS) is None and layers <= _MOST_LAYERS:
        whole["layer_types"] = [cycle[layer % len(cycle)] for layer in range(layers)]
    return whole


def has_one_kind_of_layer(model_type: str | None) -> bool:
    """Whether all layers of this model_type have the window, if there is one."""
    row = _defaults()["types"].get(model_type)
    return row is not None and "layer_types" not in row


def _names(name: str) -> tuple[str, ...]:
    return next((names for names in NAMES_OF_ONE if name in names), (name,))


@cache
def _defaults() -> dict[str, Any]:
    content: dict[str, Any] = json.loads(Path(__file__).with_name("config_defaults.json").read_text())
    return content
