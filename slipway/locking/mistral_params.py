"""Turns params.json, Mistral's own form of a configuration, into settings with the names of config.json.

As vLLM does it: vllm/transformers_utils/configs/mistral.py.
"""

from typing import Any

from slipway.locking.config_values import Config, mapping, number

_NAMES = {  # the others have a name that config.json may have
    "num_experts": "num_local_experts",
    "num_experts_per_tok": "num_experts_per_tok",
    "expert_hidden_dim": "moe_intermediate_size",
    "first_k_dense_replace": "first_k_dense_replace",
    "route_every_n": "moe_layer_freq",
}
_MOST_LAYERS = 10_000
_CONTEXT = 128_000  # vLLM's, for a file that states none


def config_of(params: Config) -> dict[str, Any]:
    """Return the settings as config.json names them; empty = there are none."""
    if not params:
        return {}
    text = dict(params)
    experts, multimodal = mapping(text.pop("moe", None)), mapping(text.pop("multimodal", None))
    text |= {_NAMES[name]: value for name, value in experts.items() if name in _NAMES}
    text |= {"model_type": None, "max_position_embeddings": _longest(params)}
    given = params.get("sliding_window")
    if windows := given if isinstance(given, list) else [given]:
        layers = min(number(params, "n_layers") or 0, _MOST_LAYERS)
        text["sliding_window"] = next(filter(None, windows), None)
        text["layer_types"] = [_kind(windows[layer % len(windows)]) for layer in range(layers)]
    quantization = mapping(text.pop("quantization", None))
    if quantization.get("qformat_weight") == "fp8_e4m3":
        quantization = {"quant_method": "fp8"}
    text["quantization_config"] = quantization
    if yarn := mapping(text.pop("yarn", None)):
        text["rope_scaling"] = {"rope_type": "yarn", **yarn}
    sees = multimodal.get("vision_encoder_args") or text.pop("vision_encoder", None)
    return {
        **text,
        "architectures": [_architecture(experts, hears="whisper_model_args" in multimodal, sees=bool(sees))],
    }


def _architecture(experts: Config, *, hears: bool, sees: bool) -> str:
    if hears or sees:
        return "VoxtralForConditionalGeneration" if hears else "PixtralForConditionalGeneration"
    if experts.get("num_shared_experts"):
        return "MistralLarge3ForCausalLM"
    return "MixtralForCausalLM" if experts else "MistralForCausalLM"


def _longest(params: Config) -> Any:
    return params.get("max_position_embeddings") or params.get("max_seq_len") or _CONTEXT


def _kind(window: object) -> str:
    return "sliding_attention" if window else "full_attention"
