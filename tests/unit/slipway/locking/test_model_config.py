"""Configurations as the Hub has them, against the catalog's rows, which were written by hand."""

import ast
import inspect
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from llm_hosting.catalog.models import model_shape
from slipway.locking import model_config
from slipway.locking.model_config import active_share, facts_of, quantization_of

CONFIGS: dict[str, Any] = yaml.safe_load(Path(__file__).with_name("configs.yaml").read_text())
# Every word that the module's code holds.
NAMES = sorted(
    {
        node.value
        for node in ast.walk(ast.parse(inspect.getsource(model_config)))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.isidentifier()
    }
)
HYBRIDS: dict[str, dict[str, Any]] = {
    "layer_types": {"num_hidden_layers": 4, "layer_types": ["linear_attention"] * 3 + ["full_attention"]},
    "interval": {"num_hidden_layers": 4, "full_attention_interval": 4},
    "pattern": {"num_hidden_layers": 4, "hybrid_override_pattern": "M-M*"},
    "indices": {"num_hidden_layers": 4, "attn_layer_indices": [2]},
    "Kimi Linear": {"num_hidden_layers": 4, "linear_attn_config": {"full_attn_layers": [4], "kda_layers": [1, 2, 3]}},
    "MiniMax": {"num_hidden_layers": 4, "attn_type_list": [0, 0, 0, 1]},
    "LFM2": {"num_hidden_layers": 4, "full_attn_idxs": [2]},
    "PLaMo 2": {"num_hidden_layers": 2, "mamba_step": 2},
    "Nemotron-NAS": {
        "num_hidden_layers": 2,
        "block_configs": [{"attention": {"n_heads_in_group": 4}}, {"attention": {"no_op": True}}],
    },
    "Gemma 3n": {"layer_types": ["full_attention"] * 2, "num_kv_shared_layers": 1},
}


@pytest.mark.parametrize("model_id", CONFIGS)
def test_a_configuration_has_the_facts_of_the_catalog(model_id: str) -> None:
    shape = model_shape(model_id)
    assert shape, f"{model_id} is not in the catalog"
    found = facts_of(CONFIGS[model_id])
    compared = {name: value for name, value in found.items() if value is not None}
    # Without one of these, memory takes that of the architecture, or the parameters that a token passes.
    for name in ("latent_size", "layers_with_window", "experts", "experts_per_token"):
        if getattr(shape, name) is None:
            compared.pop(name, None)
    assert compared == {name: getattr(shape, name) for name in compared}
    assert found.keys() - compared.keys() <= {
        *("latent_size", "sliding_window", "layers_with_window", "dtype", "intermediate_size"),
        *("experts", "experts_per_token"),
    }


@pytest.mark.parametrize("model_id", CONFIGS)
def test_the_format_of_the_files_is_that_of_the_catalog(model_id: str) -> None:
    shape = model_shape(model_id)
    assert shape
    quantization, block, unknown = quantization_of(CONFIGS[model_id])
    assert (quantization, unknown) == (shape.quantization, None)
    assert block in (None, shape.quantization_block)


@pytest.mark.parametrize("model_id", [each for each in CONFIGS if active_share(CONFIGS[each])])
def test_a_token_passes_the_parameters_that_the_catalog_says(model_id: str) -> None:
    shape, experts = model_shape(model_id), active_share(CONFIGS[model_id])
    assert shape
    assert experts
    assert shape.parameters_in_billions
    active = shape.parameters_in_billions - (experts[0] - experts[1]) / 1e9
    assert active == pytest.approx(
        shape.active_parameters_in_billions, rel=0.2
    )  # some publishers count embeddings, some do not


@pytest.mark.parametrize(
    ("more", "layers"),
    [
        ({"layer_types": ["sliding_attention"] * 3 + ["full_attention"]}, 3),
        ({"layer_types": ["sliding_attention", "full_attention"] * 2, "num_kv_shared_layers": 1}, 2),
        ({"layer_types": ["full_attention"] * 4}, None),
        ({"sliding_window_pattern": 4}, 3),
        ({"sliding_window_pattern": 4, "use_sliding_window": False}, None),
        ({}, None),
    ],
)
def test_layers_with_a_window_are_counted_where_the_model_says(more: dict[str, Any], layers: int | None) -> None:
    assert facts_of({"num_hidden_layers": 4, "sliding_window": 128, **more})["layers_with_window"] == layers


@pytest.mark.parametrize("form", HYBRIDS)
def test_of_a_hybrid_only_layers_with_attention_have_a_cache(form: str) -> None:
    assert facts_of({"num_attention_heads": 8, "hidden_size": 64, **HYBRIDS[form]})["layers"] == 1


@pytest.mark.parametrize(
    "config",
    [
        {"num_key_value_heads": None, "block_configs": [{"attention": {"n_heads_in_group": 4}}]},
        {"num_key_value_heads_per_layer": [2, 1, 1]},
        {"num_attention_groups": 2},
    ],
    ids=["Nemotron-NAS", "DeciLM", "Step3"],
)
def test_keys_and_values_have_fewer_heads_by_any_name(config: dict[str, Any]) -> None:
    assert facts_of({"num_attention_heads": 8, "hidden_size": 64, **config})["kv_heads"] == 2


def test_a_model_without_attention_has_no_cache() -> None:
    assert facts_of({"model_type": "rwkv7", "num_hidden_layers": 24, "num_heads": 32})["layers"] is None


def test_settings_for_each_layer_that_are_all_the_same_are_one() -> None:
    hunyuan = {"num_hidden_layers": 2, "hidden_size": 8, "num_experts": 64, "moe_topk": [8, 8]}
    assert active_share({**hunyuan, "moe_intermediate_size": [4, 4]}) == (2 * 3 * 8 * 4 * 64, 2 * 3 * 8 * 4 * 8)


def test_a_scaled_context_is_the_scaled_one() -> None:
    config = {"max_position_embeddings": 32768, "rope_scaling": {"type": "yarn", "factor": 4.0}}
    assert facts_of(config)["context"] == 131072


@pytest.mark.parametrize("method", ["hqq", "aqlm", "gptq"])
def test_a_format_of_unknown_size_is_named(method: str) -> None:
    assert quantization_of({"quantization_config": {"quant_method": method, "bits": 3}}) == (None, None, method)


_ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 1 << 70) | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=6),
    max_leaves=20,
)


@pytest.mark.slow
@given(st.dictionaries(st.sampled_from(NAMES), _ANYTHING, max_size=12))
def test_no_configuration_is_too_strange(config: dict[str, Any]) -> None:
    facts = facts_of(config)
    for name, value in facts.items():
        assert value is None or (isinstance(value, str) if name in ("architecture", "dtype") else value >= 0), name
    quantization_of(config)
    active_share(config)
