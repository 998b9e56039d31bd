"""The part of a model that reads images, from config.json and preprocessor_config.json."""

import math
from typing import Any

from slipway.locking.config_values import Config, mapping, number

# Image processors of transformers that keep the same law (smart_resize of Qwen2-VL; Pixtral's; InternVL's tiles).
_SCALED = ("qwen2_vl", "qwen2_5_vl", "qwen3_vl", "qwen3_vl_moe", "qwen3_5", "qwen3_5_moe")
_FITTED = ("pixtral", "mistral3")
_TILED = ("internvl", "internvl_chat")
# Limits in pixels of Qwen2-VL's processor for a file that states none.
_LEAST_PIXELS, _MOST_PIXELS = 56 * 56, 28 * 28 * 1280


def vision_of(config: Config, processor: Config) -> dict[str, Any] | None:
    """The facts of VisionShape; None = the model reads no images, or its law is not known.

    processor: preprocessor_config.json; empty = there is none.
    """
    part, kind = mapping(config.get("vision_config")), str(config.get("model_type"))
    if part.get("model_type") == "pixtral":  # also in the frame of LLaVA
        kind = "pixtral"
    law = _law(kind, config, part, processor)
    if law is None or not law.get("patch"):
        return None
    levels = part.get("deepstack_visual_indexes")
    law |= {"hidden_size": number(part, "embed_dim") or number(part, "hidden_size")}
    law |= {"levels": 1 + len(levels)} if isinstance(levels, list) and levels else {}
    return {name: value for name, value in law.items() if value is not None}


def _law(kind: str, config: Config, part: Config, processor: Config) -> dict[str, Any] | None:
    if kind in _SCALED:
        return _scaled(part, processor)
    if kind in _FITTED:
        return _fitted(config, part)
    if kind in _TILED:
        return _tiled(config, part, processor)
    tokens, side = number(config, "mm_tokens_per_image"), number(part, "image_size")
    if kind == "gemma3" and tokens:
        return {"law": "fixed", "patch": side or 896, "tokens": tokens, "squares": _squares(part, tokens)}
    patch = number(part, "patch_size")
    if kind == "llava" and patch and side:
        drops_first = config.get("vision_feature_select_strategy", "default") == "default"
        return {"law": "fixed", "patch": side, "tokens": (side // patch) ** 2 + (0 if drops_first else 1)}
    return None


def _scaled(part: Config, processor: Config) -> dict[str, Any]:
    patch = number(processor, "patch_size") or number(part, "patch_size") or 0
    merged = number(processor, "merge_size") or number(part, "spatial_merge_size") or 1
    size = mapping(processor.get("size"))
    return {
        "law": "scaled",
        "patch": patch * merged,
        "squares": merged**2,
        "least_pixels": number(processor, "min_pixels") or number(size, "shortest_edge") or _LEAST_PIXELS,
        "most_pixels": number(processor, "max_pixels") or number(size, "longest_edge") or _MOST_PIXELS,
    }


def _fitted(config: Config, part: Config) -> dict[str, Any]:
    merged = number(config, "spatial_merge_size") or 1
    patch, side = number(part, "patch_size") or 0, number(part, "image_size")
    return {"law": "fitted", "patch": patch * merged, "squares": merged**2, "longest_side": side} if side else {}


def _tiled(config: Config, part: Config, processor: Config) -> dict[str, Any] | None:
    side, patch = (_side(part.get(name)) for name in ("image_size", "patch_size"))
    ratio = config.get("downsample_ratio", 0.5)
    if not (side and patch and isinstance(ratio, int | float) and math.isfinite(ratio)):
        return None
    tokens = round((side // patch * ratio) ** 2)
    most = number(processor, "max_patches") or number(config, "max_dynamic_patch") or 12
    return {"law": "tiles", "patch": side, "tokens": tokens, "most_tiles": most, "squares": _squares(part, tokens)}


def _squares(part: Config, tokens: int) -> int:
    side, patch = (_side(part.get(name)) for name in ("image_size", "patch_size"))
    return max(1, (side // patch) ** 2 // tokens) if side and patch and tokens else 1


def _side(value: Any) -> int | None:
    """A side in pixels; some files have it for both sides."""
    first = value[0] if isinstance(value, list) and value else value
    return number({"side": first}, "side")
