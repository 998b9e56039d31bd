"""config.json of a model -> the catalog's facts, by the names that transformers' configurations have for them."""

from collections.abc import Mapping
from typing import Any

Config = Mapping[str, Any]

_TEXT_PARTS = ("text_config", "llm_config", "language_config", "thinker_config")  # of models that read images, too
_DTYPES = {"float32": "fp32", "float16": "fp16", "bfloat16": "bf16", "half": "fp16", "float": "fp32"}
_ATTENTION = ("full_attention", "sliding_attention", "chunked_attention", "attention")  # in `layer_types`
_FULLY_SCALED = (
    "su",
    "longrope",
    "llama3",
    "mrope",
    "default",
    "proportional",
)  # the context in the file is the scaled
_FOUR_TIMES = ("gpt2", "bloom", "gptj", "gpt_neo", "codegen", "gpt_bigcode", "RefinedWeb", "RefinedWebModel", "falcon")
_PLAIN_METHODS = {"awq": "awq", "gptq": "gptq", "fp8": "fp8", "fbgemm_fp8": "fp8", "mxfp4": "mxfp4"}


def facts_of(config: Config) -> dict[str, Any]:
    """Facts of `ModelShape` that a configuration holds; None = it does not say.

    Without parameters, the size of the files and access, which the files say.
    """
    text = _text(config)
    architectures = config.get("architectures") or text.get("architectures") or [""]
    heads, hidden = _heads(text), _first(text, "hidden_size", "n_embd", "d_model", "dim")
    return {
        "architecture": architectures[0],
        "layers": _layers_with_cache(text),
        "heads": heads,
        "kv_heads": _kv_heads(text, heads),
        "head_size": _head_size(text, heads, hidden),
        "hidden_size": hidden,
        "intermediate_size": _narrowest(text, hidden),
        "vocabulary": _first(text, "vocab_size", "padded_vocab_size") or config.get("vocab_size"),
        "context": _context(text),
        "sliding_window": _window(text),
        "latent_size": _latent(text),
        "dtype": _DTYPES.get(str(_first(config, "torch_dtype", "dtype") or _first(text, "torch_dtype", "dtype"))),
    }


def quantization_of(config: Config) -> tuple[str | None, int | None, str | None]:
    """The catalog's word for the files' format, weights that share a scale, and the method of an unknown format."""
    quantized = config.get("quantization_config") or _text(config).get("quantization_config") or {}
    if not quantized:
        return None, None, None
    method = str(quantized.get("quant_method", "")).lower()
    groups: Config = quantized.get("config_groups") or {}
    group: Config = next((each.get("weights") or {} for each in groups.values()), {})
    sizes = quantized.get("weight_block_size") or [quantized.get("group_size") or group.get("group_size")]
    block = sizes[0] if isinstance(sizes[0], int) and sizes[0] > 0 else None
    if method == "bitsandbytes":
        known = "bitsandbytes4" if quantized.get("load_in_4bit") else "bitsandbytes8"
    elif method in ("compressed-tensors", "modelopt"):
        known = _of_groups(quantized, group)
    else:
        known = _PLAIN_METHODS.get(method, "")
    bits = quantized.get("bits")
    if known in ("awq", "gptq") and bits not in (None, 4):
        known = ""
    return (known, block, None) if known else (None, block, method or "unnamed")


def active_share(config: Config) -> tuple[int, int] | None:
    """Parameters of all experts, and of those that a token passes; None = no mixture of experts."""
    text = _text(config)
    inner = text.get("ffn_config") or {}
    experts = _first(text, "num_local_experts", "num_experts", "n_routed_experts", "moe_num_experts") or _first(
        inner, "moe_num_experts"
    )
    used = _first(text, "num_experts_per_tok", "moe_top_k", "top_k_experts", "moe_k") or _first(inner, "moe_top_k")
    hidden = _first(text, "hidden_size", "d_model")
    width = _first(text, "moe_intermediate_size", "expert_ffn_hidden_size") or _first(inner, "ffn_hidden_size")
    width = width or _first(text, "intermediate_size", "ffn_dim")
    layers = _first(text, "num_hidden_layers", "n_layers")
    if not (experts and used and hidden and width and layers) or experts == 1:
        return None
    sparse = layers - (_first(text, "first_k_dense_replace") or 0)
    each = sparse * 3 * hidden * width
    return experts * each, used * each


def _text(config: Config) -> Config:
    """The part that generates text; what it lacks stands beside it."""
    for name in _TEXT_PARTS:
        if isinstance(part := config.get(name), Mapping):
            return _text(part)
    return config


def _first(config: Config, *names: str) -> Any:
    return next((config[name] for name in names if config.get(name) is not None), None)


def _heads(text: Config) -> int | None:
    found: int | None = _first(
        text, "decoder_attention_heads", "num_attention_heads", "n_head", "num_heads", "n_heads", "num_query_heads"
    )
    return found if isinstance(found, int) else None


def _head_size(text: Config, heads: int | None, hidden: int | None) -> int | None:
    """With latent attention that of a key, which engines cache where they do not cache the latent vector."""
    if text.get("kv_lora_rank") and (plain := text.get("qk_nope_head_dim")):
        return int(plain) + int(text.get("qk_rope_head_dim") or 0)
    given: int | None = _first(text, "head_dim", "kv_channels", "d_kv")
    return given or (hidden // heads if hidden and heads else None)


def _kv_heads(text: Config, heads: int | None) -> int | None:
    inner = text.get("attn_config") or {}
    if text.get("multi_query_attention"):  # ChatGLM
        return _first(text, "multi_query_group_num") or 1
    if text.get("multi_query") and not text.get("new_decoder_architecture"):  # Falcon 7B, StarCoder
        return 1
    found = _first(text, "num_key_value_heads", "num_kv_heads", "n_head_kv") or _first(inner, "kv_n_heads")
    return found if isinstance(found, int) else heads


def _layers_with_cache(text: Config) -> int | None:
    """Of a hybrid those with attention: the others keep a state of fixed size."""
    total = _first(
        text, "num_decoder_layers", "decoder_layers", "num_hidden_layers", "n_layer", "num_layers", "n_layers"
    )
    if not isinstance(total, int):
        return None
    if kinds := text.get("layer_types"):
        return sum(kind in _ATTENTION for kind in kinds)
    if pattern := text.get("hybrid_override_pattern"):  # Nemotron-H
        return str(pattern).count("*")
    if (chosen := text.get("attn_layer_indices")) is not None:  # Bamba
        return len(chosen)
    if period := _first(text, "attn_layer_period", "full_attention_interval"):  # Jamba, Qwen3-Next
        return total // int(period)
    return None if text.get("state_size") and not _heads(text) else total


def _context(text: Config) -> int | None:
    names = ("max_position_embeddings", "n_positions", "max_sequence_length", "max_seq_len", "seq_length", "n_ctx")
    found = _first(text, *names, "model_max_length", "max_target_positions")
    rope = text.get("rope_scaling") or text.get("rope_parameters") or {}
    kind = rope.get("rope_type", rope.get("type", "default")) if isinstance(rope, Mapping) else "default"
    factor = rope.get("factor") if isinstance(rope, Mapping) else None
    if not isinstance(found, int) or kind in _FULLY_SCALED or not factor or "gemma3" in str(text.get("model_type")):
        return found if isinstance(found, int) else None
    base = rope.get("original_max_position_embeddings") or found if kind == "yarn" else found
    return int(base * factor)


def _window(text: Config) -> int | None:
    kinds = text.get("layer_types")
    if text.get("use_sliding_window") is False or (
        kinds and not set(kinds) & {"sliding_attention", "chunked_attention"}
    ):
        return None
    found = _first(text, "sliding_window", "attention_chunk_size")
    return found if isinstance(found, int) else None


def _latent(text: Config) -> int | None:
    rank, rotary = text.get("kv_lora_rank"), text.get("qk_rope_head_dim")
    return rank + rotary if rank and rotary else None


def _narrowest(text: Config, hidden: int | None) -> int | None:
    inner = text.get("ffn_config") or {}
    widths = [
        text.get("moe_intermediate_size"),
        text.get("shared_expert_intermediate_size"),
        inner.get("ffn_hidden_size"),
    ]
    if found := [width for width in widths if isinstance(width, int) and width]:
        return min(found)
    width = _first(text, "decoder_ffn_dim", "ffn_dim", "intermediate_size", "n_inner", "d_ff", "ffn_hidden_size")
    if width is None and hidden and text.get("model_type") in _FOUR_TIMES:
        return 4 * hidden
    return width if isinstance(width, int) else None


def _of_groups(quantized: Config, group: Config) -> str:
    """Of compressed-tensors and ModelOpt; empty = a format without a name in the catalog."""
    algorithm, form = str(quantized.get("quant_algo", "")).lower(), str(quantized.get("format", ""))
    if algorithm in ("fp8", "nvfp4"):
        return algorithm
    if "nvfp4" in form or "mxfp4" in form:
        return "nvfp4" if "nvfp4" in form else "mxfp4"
    kinds = {("float", 8): "fp8", ("int", 8): "int8", ("int", 4): "gptq", ("float", 4): "nvfp4"}
    return kinds.get((str(group.get("type")), int(group.get("num_bits") or 0)), "")
