"""Facts of models whose layers are not all alike, against sizes worked out by hand from vLLM's shapes."""

from typing import Any

import pytest

from slipway.locking.model_config import facts_of

ATTENTION = {"num_attention_heads": 8, "num_key_value_heads": 2, "hidden_size": 1024, "head_dim": 128}
DELTA_NET = {
    "linear_num_key_heads": 16,
    "linear_num_value_heads": 32,
    "linear_key_head_dim": 128,
    "linear_value_head_dim": 128,
    "linear_conv_kernel_dim": 4,
}
CONVOLVED = 3 * 8192 * 2  # three earlier inputs of keys, queries and values, in 16 bits


@pytest.mark.parametrize(
    ("config", "layers", "state_in_bytes"),
    [
        pytest.param(
            {"num_hidden_layers": 48, "full_attention_interval": 4, **DELTA_NET},
            36,
            CONVOLVED + 32 * 128 * 128 * 2,
            id="Qwen3-Next",
        ),
        pytest.param(
            {"text_config": {"layer_types": ["linear_attention"] * 3 + ["full_attention"], **DELTA_NET}},
            3,
            CONVOLVED + 32 * 128 * 128 * 2,
            id="kinds of layers in a part",
        ),
        pytest.param(
            {"num_hidden_layers": 32, "full_attention_interval": 4, "mamba_ssm_dtype": "float32", **DELTA_NET},
            24,
            CONVOLVED + 32 * 128 * 128 * 4,
            id="Qwen3.5",
        ),
        pytest.param(
            {
                "num_hidden_layers": 4,
                "linear_attn_config": {"full_attn_layers": [4], "kda_layers": [1, 2, 3], "num_heads": 2, "head_dim": 8},
            },
            3,
            3 * 3 * 16 * 2 + 2 * 8 * 8 * 4,
            id="Kimi Linear",
        ),
        pytest.param(
            {
                "model_type": "nemotron_h",
                "hybrid_override_pattern": "M-M-M*",
                "num_hidden_layers": 6,
                "mamba_num_heads": 4,
                "mamba_head_dim": 16,
                "n_groups": 2,
                "ssm_state_size": 32,
                "conv_kernel": 4,
            },
            3,
            3 * (64 + 2 * 2 * 32) * 2 + 64 * 32 * 4,
            id="Nemotron-H",
        ),
        pytest.param(
            {
                "model_type": "falcon_h1",
                "num_hidden_layers": 6,
                "mamba_d_ssm": 64,
                "mamba_d_head": "auto",
                "mamba_n_heads": 4,
                "mamba_n_groups": 1,
                "mamba_d_state": 32,
                "mamba_d_conv": 4,
            },
            6,
            3 * (64 + 2 * 32) * 2 + 64 * 32 * 2,
            id="Falcon-H1, with both in each layer",
        ),
        pytest.param(
            {
                "num_hidden_layers": 4,
                "layer_types": ["mamba", "mamba", "attention", "mamba"],
                "mamba_expand": 2,
                "mamba_n_heads": 32,
                "mamba_n_groups": 1,
                "mamba_d_state": 128,
                "mamba_d_conv": 4,
            },
            3,
            3 * (2048 + 2 * 128) * 2 + 2048 * 128 * 2,
            id="Granite 4 H",
        ),
        pytest.param(
            {
                "num_hidden_layers": 8,
                "attn_layer_period": 8,
                "mamba_expand": 2,
                "mamba_d_state": 16,
                "mamba_d_conv": 4,
            },
            7,
            3 * 2048 * 2 + 2048 * 16 * 2,
            id="Jamba",
        ),
        pytest.param({"num_hidden_layers": 4, "layer_types": ["full_attention"] * 4}, None, None, id="attention alone"),
        pytest.param({"num_hidden_layers": 4, "full_attention_interval": 4}, None, None, id="sizes are missing"),
    ],
)
def test_the_recurrent_state_has_the_size_that_vllm_gives_it(
    config: dict[str, Any], layers: int | None, state_in_bytes: int | None
) -> None:
    found = facts_of({**ATTENTION, **config})
    assert (found["layers_with_state"], found["state_in_bytes"]) == (layers, state_in_bytes)


@pytest.mark.parametrize(("shares", "heads"), [(True, 4), (False, None)])
def test_layers_without_a_window_have_fewer_heads_where_keys_are_values(shares: bool, heads: int | None) -> None:
    wide = {"global_head_dim": 512, "num_global_key_value_heads": 4, "attention_k_eq_v": shares}
    found = facts_of({**ATTENTION, "num_hidden_layers": 6, **wide})
    assert (found["kv_heads_without_window"], found["head_size_without_window"]) == (heads, 512)
    plain = facts_of({**ATTENTION, "num_hidden_layers": 6})
    assert (plain["kv_heads_without_window"], plain["head_size_without_window"]) == (None, None)


def test_compressed_attention_has_no_number_of_layers_with_a_cache() -> None:
    assert facts_of({**ATTENTION, "num_hidden_layers": 3, "compress_ratios": [0, 4, 128]})["layers"] is None
    assert facts_of({**ATTENTION, "num_hidden_layers": 3})["layers"] == 3
