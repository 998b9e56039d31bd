"""Facts of GGUF files: layers with a cache, and the compressed form of latent attention."""

from typing import Any

import pytest

from slipway.locking.gguf import facts_of_gguf


def facts(architecture: str, **of: Any) -> dict[str, Any]:
    keys = {f"{architecture}.{name.replace('__', '.')}": value for name, value in of.items()}
    return facts_of_gguf({"general.architecture": architecture} | keys)


@pytest.mark.parametrize(
    ("of", "layers"),
    [
        ({"attention__head_count_kv": 4}, 64),
        ({"attention__head_count_kv": [0, 0, 0, 4] * 16}, 16),
        ({"attention__head_count_kv": 4, "full_attention_interval": 4, "ssm__state_size": 128}, 16),
        ({"attention__head_count_kv": 4, "ssm__state_size": 128}, None),
    ],
    ids=["all", "a list", "an interval", "not told"],
)
def test_only_layers_with_a_cache_are_counted(of: dict[str, Any], layers: int | None) -> None:
    assert facts("qwen35", block_count=64, **of)["layers"] == layers


def test_a_layer_that_predicts_further_tokens_is_none_of_the_interval() -> None:
    assert facts("qwen35", block_count=65, full_attention_interval=4, nextn_predict_layers=1)["layers"] == 16


def test_keys_of_compressed_attention_hold_its_values() -> None:
    latent = {"attention__kv_lora_rank": 512, "attention__key_length": 576, "attention__head_count": 20}
    assert facts("deepseek2", **latent, attention__head_count_kv=1)["latent_size"] == 576
    assert facts("deepseek2", **latent, attention__head_count_kv=20)["latent_size"] is None
