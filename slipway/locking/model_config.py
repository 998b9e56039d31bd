"""Turns a model's config.json into the catalog's facts, by the names that transformers' configurations use."""

import math
import re
from collections.abc import Mapping
from typing import Any

from slipway.locking.config_defaults import filled, has_one_kind_of_layer, text_type
from slipway.locking.config_values import (
    CONTEXT,
    EXPERTS,
    HEAD_SIZE,
    HEADS,
    HIDDEN,
    KV_HEADS,
    LAYERS,
    USED_EXPERTS,
    VOCABULARY,
    WIDTH,
    WINDOW,
    Config,
    ConfigError,
    factor,
    first,
    mapping,
    number,
)
from slipway.locking.uneven_layers import uneven_layers

# The part that generates text, in models that also read images or have an encoder.
_TEXT_PARTS = ("text_config", "llm_config", "language_config", "thinker_config", "decoder")
_DTYPES = {"float32": "fp32", "float16": "fp16", "bfloat16": "bf16", "half": "fp16", "float": "fp32"}
# In `layer_types`: layers that keep a state of fixed size or none; all others keep keys and values.
_WITHOUT_CACHE = ("linear_attention", "mamba", "conv", "recurrent", "moe", "mlp", "ssm")
_LISTS_BY_LAYER = ("layer_types", "layers_block_type")
_FEED_FORWARD = ("sparse", "dense")
_TWO_ATTENTIONS_EACH = ("longcat_flash",)
_FULLY_SCALED = (
    "su",
    "longrope",
    "llama3",
    "mrope",
    "default",
    "proportional",
)  # the context in the file is the scaled
_FOUR_TIMES = ("gpt2", "bloom", "gptj", "gpt_neo", "codegen", "gpt_bigcode", "RefinedWeb", "RefinedWebModel", "falcon")
_WINDOWED = re.compile("sliding|chunked|window")
_LAYER = re.compile(r"\b\d+\b")  # in the name of a module
_LONGEST_LIST = 16
_MOST_LAYERS, _LARGEST_FACTOR = 10_000, 10_000
_VALUES_PER_SCALE = 128
_PLAIN_METHODS = {"awq": "awq", "gptq": "gptq", "fp8": "fp8", "fbgemm_fp8": "fp8", "mxfp4": "mxfp4"}


def facts_of(config: Config) -> dict[str, Any]:
    """The facts of `ModelShape` that a configuration holds; None = it does not tell.

    Parameters, the size of the files and access are not among them: the files tell those.
    """
    text = _text(config)
    named = config.get("architectures") or text.get("architectures")
    heads, hidden = number(text, *HEADS), number(text, *HIDDEN)
    experts, used = _experts(text) or (None, None)
    return {
        "architecture": named[0] if isinstance(named, list) and named and isinstance(named[0], str) else "",
        "layers": _layers_with_cache(text),
        "heads": heads,
        "kv_heads": _kv_heads(text, heads),
        "head_size": _head_size(text, heads, hidden),
        "hidden_size": hidden,
        "intermediate_size": _narrowest(text, hidden),
        "vocabulary": number(_part(config), *VOCABULARY) or number({**text, **config}, *VOCABULARY),
        "context": _context(text),
        "sliding_window": _window(text),
        "layers_with_window": _layers_with_window(text),
        "latent_size": _latent(text),
        "indexer_bytes": _indexer(text),
        **uneven_layers(text, _layers_with_cache(text)),
        "experts": experts,
        "experts_per_token": used,
        "dtype": _DTYPES.get(str(first(config, "torch_dtype", "dtype") or first(text, "torch_dtype", "dtype"))),
    }


def quantization_of(config: Config) -> tuple[str | None, int | None, str | None]:
    """The catalog's word for the files' format, the number of weights that share a scale, and the method of an
    unknown format.
    """
    given = config.get("quantization_config") or _text(config).get("quantization_config")
    if not given:
        return None, None, None
    quantized = mapping(given)
    method = str(quantized.get("quant_method", "")).lower()
    groups = [mapping(mapping(each).get("weights")) for each in mapping(quantized.get("config_groups")).values()]
    group = next(filter(None, groups), {})
    sizes = quantized.get("weight_block_size")
    block = number({"block": sizes[0] if isinstance(sizes, list) and sizes else None}, "block")
    block = block or number(quantized, "group_size", "q_group_size") or number(group, "group_size")
    if method == "bitsandbytes":
        known = "bitsandbytes4" if quantized.get("load_in_4bit") else "bitsandbytes8"
    elif method in ("compressed-tensors", "modelopt"):
        known = _of_groups(quantized, group)
    else:
        known = _PLAIN_METHODS.get(method, "")
    bits = first(quantized, "bits", "w_bit")
    if known in ("awq", "gptq") and bits not in (None, 4):
        known = ""
    of_bits = f" with {bits} bits" if isinstance(bits, int) and method in ("awq", "gptq") else ""
    return (known, block, None) if known else (None, block, f"{method}{of_bits}" or "unnamed")


def settings_of(config: Config, *names: str) -> Config:
    """The first of these settings that is an object, in the model or in its part that generates text; empty = none."""
    return next((found for part in (config, _text(config)) for name in names if (found := mapping(part.get(name)))), {})


def short(value: Any) -> Any:
    """Settings shortened: one sorted entry in place of one for each layer, and the length of long lists of numbers.

    Null stands for `Infinity` and `NaN`, which JSON does not allow and Python writes.
    """
    if isinstance(value, Mapping):
        return {_LAYER.sub("*", name): short(value[name]) for name in sorted(value)}
    if not isinstance(value, list):
        return None if isinstance(value, float) and not math.isfinite(value) else value
    if all(isinstance(each, str) for each in value):
        return sorted({_LAYER.sub("*", each) for each in value})
    return [short(each) for each in value] if len(value) <= _LONGEST_LIST else f"{len(value)} values"


def active_share(config: Config) -> tuple[int, int] | None:
    """Parameters of all experts, and of the experts that a token uses; None = not a mixture of experts."""
    text = _text(config)
    inner = {**text, **mapping(text.get("ffn_config"))}
    counts = _experts(text)
    hidden = number(text, *HIDDEN)
    width = number(inner, "moe_intermediate_size", "expert_ffn_hidden_size", "moe_ffn_hidden_size")
    width = width or number(inner, "ffn_hidden_size", "intermediate_size", "ffn_dim", "hidden_dim")
    sparse = _sparse_layers(text)
    if not (counts and hidden and width and sparse):
        return None
    matrices = 2 if str(first(text, "mlp_hidden_act", "hidden_act")).startswith("relu") else 3
    each = sparse * matrices * hidden * width
    return counts[0] * each, counts[1] * each


def _experts(text: Config) -> tuple[int, int] | None:
    """Experts of each layer with a mixture: all, and those that a token uses; None = not a mixture of experts."""
    inner = {**text, **mapping(text.get("ffn_config"))}
    if _lacks_experts(text):
        return None
    experts, used = number(inner, *EXPERTS), number(inner, *USED_EXPERTS)
    return (experts, used) if experts and experts > 1 and used else None


def _lacks_experts(text: Config) -> bool:
    """Whether the order of layers (Nemotron-H) has none with experts, whatever number the defaults give."""
    pattern = text.get("hybrid_override_pattern")
    return isinstance(pattern, str) and "E" not in pattern


def _sparse_layers(text: Config) -> int:
    """The number of layers whose feed-forward part is a mixture of experts; 0 = not known."""
    layers = number(text, *LAYERS) or 0
    for kinds, word in ((text.get("mlp_layer_types"), "sparse"), (_kinds(text), "moe")):
        if isinstance(kinds, list) and word in kinds:
            return int(kinds.count(word))
    if pattern := text.get("hybrid_override_pattern"):  # Nemotron-H
        return str(pattern).count("E")
    for name in ("moe_layers", "moe_layer_freq"):
        if isinstance(chosen := text.get(name), list) and chosen:
            return len(chosen) if name == "moe_layers" else chosen.count(1)
    dense = number(text, "first_k_dense_replace", "num_dense_layers", "moe_layer_start_index") or 0
    only = text.get("mlp_only_layers")
    dense = dense or (len(only) if isinstance(only, list) else 0)
    period = number(text, "decoder_sparse_step", "interleave_moe_layer_step", "expert_layer_period", "moe_layer_freq")
    return max(0, layers - dense) // (period or 1)


def model_types(config: Config) -> tuple[str | None, str | None]:
    """The model_type of the part that generates text, and that of the whole model if it is another one."""
    kind, whole = text_type(config.get("model_type"), _part(config)), config.get("model_type")
    return kind, whole if isinstance(whole, str) and whole != kind else None


def _text(config: Config) -> Config:
    """All settings of the part that generates text: its own, else the defaults of its model_type.

    A model with a class of its own has defaults of its own.
    """
    part = _part(config)
    has_own_class = "AutoConfig" in mapping(config.get("auto_map"))
    whole = part if has_own_class else filled(part, model_types(config)[0])
    return {**whole, **_lists_by_layer(part, may_repeat=has_own_class)}


def _lists_by_layer(part: Config, *, may_repeat: bool) -> Config:
    """The lists of kinds of layers, with one entry for each layer.

    Entries beyond the last layer are of layers that predict further tokens (Step 3.5). transformers refuses a list
    that is too short (validate_layer_type); a class of the model's own may repeat it.
    """
    layers, lists = number(part, *LAYERS) or 0, dict[str, Any]()
    for name in _LISTS_BY_LAYER if 0 < layers <= _MOST_LAYERS else ():
        kinds = part.get(name)
        if not isinstance(kinds, list) or not kinds:
            continue
        if len(kinds) < layers and not may_repeat:
            raise ConfigError(f"says {name} for {len(kinds)} layers, and has {layers}")
        lists[name] = [kinds[layer % len(kinds)] for layer in range(layers)]
    return lists


def _part(config: Config) -> Config:
    return next((_part(config[name]) for name in _TEXT_PARTS if isinstance(config.get(name), Mapping)), config)


def _head_size(text: Config, heads: int | None, hidden: int | None) -> int | None:
    """The size of an attention head. With latent attention it is the size of a key, which engines cache if they do
    not cache the latent vector.
    """
    if number(text, "kv_lora_rank") and (plain := number(text, "qk_nope_head_dim")):
        return plain + (number(text, "qk_rope_head_dim") or 0)
    given = number(text, *HEAD_SIZE)
    return given or (hidden // heads if hidden and heads else None)


def _kv_heads(text: Config, heads: int | None) -> int | None:
    inner = mapping(text.get("attn_config"))
    if text.get("multi_query_attention"):  # ChatGLM
        return number(text, "multi_query_group_num") or 1
    if text.get("multi_query") and not text.get("new_decoder_architecture"):  # Falcon 7B, StarCoder
        return 1
    if isinstance(each := text.get("num_key_value_heads_per_layer"), list):  # DeciLM, padded to the most
        return max((count for count in each if isinstance(count, int) and count > 0), default=heads)
    groups = [number(attention, "n_heads_in_group") for attention in _attention_blocks(text)]
    if heads and (known := [group for group in groups if group]):  # Nemotron-NAS
        return max(1, heads // min(known))
    given = number(text, *KV_HEADS)
    return given or number(inner, "kv_n_heads") or heads


def _attention_blocks(text: Config) -> list[Config]:
    """The attention blocks of Nemotron-NAS, which leaves attention out of some layers."""
    blocks = text.get("block_configs")
    attentions = [mapping(mapping(block).get("attention")) for block in blocks] if isinstance(blocks, list) else []
    return [each for each in attentions if each and not each.get("no_op") and not each.get("replace_with_linear")]


def _layers_with_cache(text: Config) -> int | None:
    """The layers of a hybrid model that have attention. The others keep a state of fixed size."""
    total = number(text, *LAYERS)
    if kinds := _kinds(text):
        return sum(kind not in _WITHOUT_CACHE for kind in _with_own_cache(kinds, text)) or None
    if total is None or text.get("state_size") or str(text.get("model_type")).startswith("rwkv"):  # or Mamba
        return None
    if attentions := _attention_blocks(text):
        return len(attentions)
    if isinstance(types := text.get("attn_type_list"), list) and types:  # MiniMax: 0 = linear attention
        return types.count(1)
    if pattern := text.get("hybrid_override_pattern"):  # Nemotron-H
        return str(pattern).count("*")
    linear = mapping(text.get("linear_attn_config"))  # Kimi Linear; below, Bamba and LFM2
    chosen = first({**text, **linear}, "full_attn_layers", "attn_layer_indices", "full_attn_idxs")
    if isinstance(chosen, list):
        return len(chosen)
    if isinstance(blocks := text.get("block_types"), list) and "attention" in blocks:  # RecurrentGemma
        return [blocks[layer % len(blocks)] for layer in range(min(total, _MOST_LAYERS))].count("attention")
    if period := number(
        text, "attn_layer_period", "full_attention_interval", "mamba_step"
    ):  # Jamba, Qwen3-Next, PLaMo 2
        return total // period
    return 2 * total if text.get("model_type") in _TWO_ATTENTIONS_EACH else total


def _kinds(text: Config) -> list[str]:
    """The kind of each layer; empty = all are alike."""
    given = first(text, *_LISTS_BY_LAYER)
    kinds = [str(each) for each in given] if isinstance(given, list) else []
    return kinds if set(kinds) - set(_FEED_FORWARD) else []


def _context(text: Config) -> int | None:
    found = number(text, *CONTEXT)
    rope = mapping(text.get("rope_scaling") or text.get("rope_parameters"))
    kind, scale = rope.get("rope_type", rope.get("type", "default")), factor(rope, "factor")
    is_scaled = scale is not None and scale < _LARGEST_FACTOR
    if not found or kind in _FULLY_SCALED or not is_scaled or "gemma3" in str(text.get("model_type")):
        return found
    base = number(rope, "original_max_position_embeddings") if kind == "yarn" else None
    return int((base or found) * (scale or 1))


def _window(text: Config) -> int | None:
    kinds = _kinds(text)
    if text.get("use_sliding_window") is False or (kinds and not any(_WINDOWED.search(kind) for kind in kinds)):
        return None
    window, context = number(text, *WINDOW), _context(text)
    return None if window and context and window >= context else window


def _layers_with_window(text: Config) -> int | None:
    layers, period = _layers_with_cache(text), number(text, "sliding_window_pattern")
    if layers is None or _window(text) is None:
        return None
    if kinds := _kinds(text):
        return sum(bool(_WINDOWED.search(kind)) for kind in _with_own_cache(kinds, text))
    if period:
        return layers - layers // period
    if whole := number(text, "max_window_layers"):  # Qwen2: the first layers keep all
        return max(0, layers - whole)
    return layers if has_one_kind_of_layer(text.get("model_type")) else None


def _with_own_cache(kinds: list[str], text: Config) -> list[str]:
    """All layers but the last ones of Gemma 3n, which use the keys and values of earlier layers."""
    return kinds[: len(kinds) - (number(text, "num_kv_shared_layers") or 0)]


def _latent(text: Config) -> int | None:
    rank, rotary = number(text, "kv_lora_rank"), number(text, "qk_rope_head_dim")
    return rank + rotary if rank and rotary else None


def _indexer(text: Config) -> int | None:
    """Bytes of the keys that sparse attention's indexers cache for a token: FP8, with a scale for each 128 values.

    vLLM: IndexerCache in vllm/model_executor/models/deepseek_v2.py.
    """
    size, layers = number(text, "index_head_dim"), _layers_with_cache(text)
    if not (size and layers and number(text, "index_topk")):
        return None
    modes, freq, offset = text.get("indexer_types"), number(text, "index_topk_freq"), text.get("index_skip_topk_offset")
    if freq and not isinstance(modes, list):  # as transformers' GlmMoeDsaConfig
        begin = (offset if isinstance(offset, int) else 2) - 1
        modes = [
            "full" if max(layer - begin, 0) % freq == 0 else "shared" for layer in range(min(layers, _MOST_LAYERS))
        ]
    count = modes.count("full") if isinstance(modes, list) else layers
    return count * (size + size // _VALUES_PER_SCALE * 4) or None


def _narrowest(text: Config, hidden: int | None) -> int | None:
    inner = mapping(text.get("ffn_config"))
    widths = [
        None if _lacks_experts(text) else number(text, "moe_intermediate_size"),
        number(text, "shared_expert_intermediate_size"),
        number(text, "expert_ffn_hidden_size"),
        number(inner, "ffn_hidden_size"),
    ]
    if found := [width for width in widths if width]:
        return min(found)
    width = number(text, *WIDTH)
    if width is None and hidden and text.get("model_type") in _FOUR_TIMES:
        return 4 * hidden
    return width


def _of_groups(quantized: Config, group: Config) -> str:
    """The format of compressed-tensors or ModelOpt; empty = the catalog has no name for it."""
    algorithm, form = str(quantized.get("quant_algo", "")).lower(), str(quantized.get("format", ""))
    if algorithm in ("fp8", "nvfp4"):
        return algorithm
    if "nvfp4" in form or "mxfp4" in form:
        return "nvfp4" if "nvfp4" in form else "mxfp4"
    kinds: dict[tuple[str, int | None], str] = {
        ("float", 8): "fp8",
        ("int", 8): "int8",
        ("int", 4): "gptq",
        ("float", 4): "nvfp4",
    }
    return kinds.get((str(group.get("type")), number(group, "num_bits")), "")
