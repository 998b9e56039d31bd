"""The part of a model that reads images, from settings in the form of published ones."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from llm_hosting.catalog.models import model_shape
from llm_hosting.catalog.vision import VisionShape
from slipway.locking.vision import vision_of
from slipway.reference import catalog_rows

QWEN3 = {"model_type": "qwen3_vl", "vision_config": {"patch_size": 16, "spatial_merge_size": 2, "hidden_size": 1024}}
DEEPSTACK = {"deepstack_visual_indexes": [5, 11, 17]}
PIXTRAL = {"model_type": "pixtral", "image_size": 1540, "patch_size": 14, "hidden_size": 1024}


@pytest.mark.parametrize(
    ("model_id", "config", "processor"),
    [
        (
            "Qwen/Qwen3-VL-4B-Instruct",
            QWEN3 | {"vision_config": QWEN3["vision_config"] | DEEPSTACK},  # type: ignore[operator]
            {"size": {"shortest_edge": 65536, "longest_edge": 16777216}, "patch_size": 16, "merge_size": 2},
        ),
        (
            "Qwen/Qwen2-VL-7B-Instruct",
            {"model_type": "qwen2_vl", "vision_config": {"embed_dim": 1280, "hidden_size": 3584, "patch_size": 14}},
            {"min_pixels": 3136, "max_pixels": 12845056, "patch_size": 14, "merge_size": 2},
        ),
        (
            "google/gemma-3-4b-it",
            {
                "model_type": "gemma3",
                "mm_tokens_per_image": 256,
                "vision_config": {"hidden_size": 1152, "image_size": 896, "patch_size": 14},
            },
            {},
        ),
        (
            "llava-hf/llava-1.5-7b-hf",
            {"model_type": "llava", "vision_config": {"hidden_size": 1024, "image_size": 336, "patch_size": 14}},
            {},
        ),
        (
            "mistralai/Mistral-Small-3.1-24B-Instruct-2503",
            {"model_type": "mistral3", "spatial_merge_size": 2, "vision_config": PIXTRAL},
            {},
        ),
    ],
)
def test_settings_have_the_facts_of_the_catalog(model_id: str, config: Any, processor: Any) -> None:
    found, known = vision_of(config, processor), model_shape(model_id)
    assert found
    assert known
    assert VisionShape(**found) == known.vision


def test_tiles_have_the_tokens_that_are_left_after_shuffling() -> None:
    part = {"image_size": [448, 448], "patch_size": [14, 14], "hidden_size": 1024}
    found = vision_of({"model_type": "internvl", "downsample_ratio": 0.5, "vision_config": part}, {"max_patches": 12})
    assert found
    assert VisionShape(**found).most_tokens == 13 * 256


@pytest.mark.parametrize(
    "config",
    [
        {"model_type": "qwen3"},
        {"model_type": "new_vl", "vision_config": {"patch_size": 14}},
        QWEN3 | {"vision_config": 7},
    ],
)
def test_an_unknown_law_has_no_facts(config: Any) -> None:
    assert vision_of(config, {}) is None


def test_a_lock_with_a_vision_part_becomes_a_row_of_the_catalog(tmp_path: Path) -> None:
    known = model_shape("Qwen/Qwen3-VL-4B-Instruct")
    assert known
    facts = {name: value for name, value in asdict(known).items() if name not in ("ids", "source", "needs")}
    beside = ("quant_method", "rope", "chat_template", "model_type", "wrapper")
    content = {"version": 1, "model": "org/copy", "facts": {k: v for k, v in facts.items() if k not in beside}}
    (tmp_path / "copy.lock.json").write_text(json.dumps(content))
    assert catalog_rows.run([tmp_path / "copy.lock.json"], tmp_path / "models.json") == 0
    row = json.loads((tmp_path / "models.json").read_text())["models"][0]
    assert VisionShape(**row["vision"]) == known.vision
