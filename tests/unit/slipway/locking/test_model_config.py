"""Configurations as the Hub has them, against the catalog's rows, which were written by hand."""

import ast
import inspect
import math
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from llm_hosting.catalog.models import model_shape
from slipway.locking import config_values, model_config, uneven_layers
from slipway.locking.config_values import ConfigError
from slipway.locking.mistral_params import config_of
from slipway.locking.model_config import active_share, facts_of, model_types, quantization_of

CONFIGS: dict[str, Any] = yaml.safe_load(Path(__file__).with_name("configs.yaml").read_text())
# Every word that the modules' code holds.
NAMES = sorted(
    {
        node.value
        for module in (model_config, config_values, uneven_layers)
        for node in ast.walk(ast.parse(inspect.getsource(module)))
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
        *("experts", "experts_per_token", "indexer_bytes", "layers_with_state", "state_in_bytes"),
        *("kv_heads_without_window", "head_size_without_window"),
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


OWN_CLASS = {"auto_map": {"AutoConfig": "configuration_mine.MineConfig"}}
SLIDING = ["sliding_attention", "full_attention"]


@pytest.mark.parametrize(
    ("config", "layers", "windows"),
    [
        pytest.param({"layer_types": SLIDING * 3}, 4, 2, id="with layers that predict further tokens"),
        pytest.param({"layer_types": SLIDING, **OWN_CLASS}, 4, 2, id="repeated by a class of its own"),
        pytest.param({"layers_block_type": ["mamba", "attention"] * 2}, 2, None, id="of another name"),
    ],
)
def test_a_list_of_layers_is_taken_for_the_layers_there_are(
    config: dict[str, Any], layers: int, windows: int | None
) -> None:
    facts = facts_of({"num_hidden_layers": 4, "sliding_window": 128, **config})
    assert (facts["layers"], facts["layers_with_window"]) == (layers, windows)


@pytest.mark.parametrize("name", ["layer_types", "layers_block_type"])
def test_a_list_for_fewer_layers_is_no_configuration(name: str) -> None:
    with pytest.raises(ConfigError, match=f"says {name} for 4 layers, and has 36"):
        facts_of({"num_hidden_layers": 36, name: SLIDING * 2})


def test_a_format_with_other_bits_is_named_with_them() -> None:
    given = {"quant_method": "gptq", "bits": 8, "group_size": 128}
    assert quantization_of({"quantization_config": given}) == (None, 128, "gptq with 8 bits")


def test_an_architecture_without_a_name_is_none() -> None:
    assert facts_of({"architectures": [None]})["architecture"] == ""


def test_experts_of_mistrals_own_form_are_counted() -> None:
    params = {"dim": 8, "n_layers": 2, "hidden_dim": 4, "moe": {"num_experts": 8, "num_experts_per_tok": 2}}
    assert active_share(config_of(params)) == (2 * 3 * 8 * 4 * 8, 2 * 3 * 8 * 4 * 2)


# What a configuration leaves out, and the value that transformers' class has for it.
LEFT_OUT: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "Gemma 3 4B": (
        {
            "model_type": "gemma3",
            "text_config": {"hidden_size": 2560, "model_type": "gemma3_text", "num_hidden_layers": 34},
        },
        {"heads": 8, "kv_heads": 4, "head_size": 256, "context": 131072, "layers_with_window": 29},
    ),
    "Gemma 3 12B, whose heads times size are not its width": (
        {"model_type": "gemma3_text", "hidden_size": 3840, "num_attention_heads": 16, "num_hidden_layers": 48},
        {"heads": 16, "head_size": 256},
    ),
    "a wrapper that does not name its part": (
        {"model_type": "llava", "text_config": {"num_hidden_layers": 40}},
        {"layers": 40, "heads": 32, "kv_heads": 32, "context": 2048, "vocabulary": 32000},
    ),
    "a wrapper without a part": (
        {"model_type": "qwen2_vl", "num_hidden_layers": 28, "sliding_window": 32768},
        {"layers": 28, "heads": 64, "kv_heads": 8, "sliding_window": None},
    ),
    "Mistral in a wrapper": (
        {"model_type": "mistral3", "text_config": {"model_type": "mistral", "num_hidden_layers": 40}},
        {"kv_heads": 8, "sliding_window": 4096, "layers_with_window": 40},
    ),
    "a window that is turned off": ({"model_type": "mistral", "sliding_window": None}, {"sliding_window": None}),
    "another name for the same": ({"model_type": "gpt2", "hidden_size": 1024}, {"hidden_size": 1024, "heads": 12}),
    "layers by a period of their own": (
        {"model_type": "qwen3_next", "num_hidden_layers": 6, "full_attention_interval": 3},
        {"layers": 2},
    ),
    "layers by the usual period": ({"model_type": "qwen3_next", "num_hidden_layers": 48}, {"layers": 12}),
    "Qwen2 with windows in its last layers": (
        {"model_type": "qwen2", "use_sliding_window": True, "max_window_layers": 20},
        {"layers": 32, "layers_with_window": 12},
    ),
    "a class of the model's own": (
        {"model_type": "gemma3_text", "auto_map": {"AutoConfig": "mine.Config"}, "num_hidden_layers": 2},
        {"heads": None, "context": None},
    ),
}


@pytest.mark.parametrize("case", LEFT_OUT)
def test_what_a_configuration_leaves_out_is_the_default_of_its_class(case: str) -> None:
    config, facts = LEFT_OUT[case]
    assert {name: facts_of(config)[name] for name in facts} == facts


@pytest.mark.parametrize(
    ("config", "types"),
    [
        ({"model_type": "llama"}, ("llama", None)),
        ({"model_type": "mistral3", "text_config": {"model_type": "ministral3"}}, ("ministral3", "mistral3")),
        ({"model_type": "qwen2_vl"}, ("qwen2_vl_text", "qwen2_vl")),
        ({"model_type": ["llama"]}, (None, None)),
        ({}, (None, None)),
    ],
)
def test_the_type_of_the_text_part_is_told_apart_from_the_wrappers(config: Any, types: tuple[str, str]) -> None:
    assert model_types(config) == types


@pytest.mark.parametrize("name", ["num_hidden_layers", "num_key_value_heads", "hidden_size", "max_position_embeddings"])
@pytest.mark.parametrize("value", ["many", "32", -5, -1, 1.5, math.nan, math.inf, True, False, [True, True]])
def test_a_count_that_is_no_number_is_an_error(name: str, value: Any) -> None:
    with pytest.raises(ConfigError, match=f"says {name}: .*; it must be a positive whole number"):
        facts_of({"text_config": {name: value}})


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"linear_num_key_heads": -4}, "linear_num_key_heads: -4; it must be a positive whole number"),
        ({"full_attention_interval": "many"}, 'full_attention_interval: "many"; it must be a positive whole number'),
        ({"mamba_d_state": True}, "mamba_d_state: true; it must be a positive whole number"),
        ({"linear_attn_config": {"head_dim": "wide"}}, 'head_dim: "wide"; it must be a positive whole number'),
        ({"kv_lora_rank": 1.5}, "kv_lora_rank: 1.5; it must be a positive whole number"),
        ({"rope_scaling": {"factor": "many"}}, 'factor: "many"; it must be a positive number'),
        ({"rope_parameters": {"factor": math.nan}}, "factor: NaN; it must be a positive number"),
        ({"rope_scaling": {"factor": True}}, "factor: true; it must be a positive number"),
        ({"rope_scaling": {"rope_type": "llama3", "factor": -8}}, "factor: -8; it must be a positive number"),
    ],
)
def test_a_count_of_states_periods_or_ropes_that_is_no_number_is_an_error(more: dict[str, Any], says: str) -> None:
    config = {"num_hidden_layers": 4, "max_position_embeddings": 4096, "hidden_size": 64}
    with pytest.raises(ConfigError, match=f"says {re.escape(says)}"):
        facts_of({"text_config": {**config, **more}})


def test_words_and_nothing_are_no_mistakes_where_models_write_them() -> None:
    given = {"mamba_d_head": "auto", "mamba_d_ssm": None, "kv_lora_rank": None, "moe_intermediate_size": [1536, 512]}
    facts = facts_of({"num_hidden_layers": 2, "max_position_embeddings": 64, "rope_scaling": {"factor": None}, **given})
    assert (facts["state_in_bytes"], facts["latent_size"], facts["context"]) == (None, None, 64)


@pytest.mark.parametrize("value", [None, 0, -1, False])
def test_a_window_may_be_none_in_several_ways(value: Any) -> None:
    assert facts_of({"sliding_window": value})["sliding_window"] is None


def test_a_number_with_a_point_and_one_for_each_layer_are_no_mistakes() -> None:
    facts = facts_of({"num_hidden_layers": 2, "hidden_size": 64.0, "num_query_heads": [12, 16], "num_experts": 0})
    assert (facts["hidden_size"], facts["heads"], facts["experts"]) == (64, None, None)


@pytest.mark.parametrize("window", [4096, 8192])
def test_a_window_as_long_as_the_context_is_none(window: int) -> None:
    facts = facts_of({"num_hidden_layers": 4, "max_position_embeddings": 4096, "sliding_window": window})
    assert (facts["sliding_window"], facts["layers_with_window"]) == (None, None)


@pytest.mark.parametrize(
    ("more", "layers"),
    [
        ({}, 78),
        ({"index_topk_freq": 4, "index_skip_topk_offset": 2}, 21),
        ({"indexer_types": ["full", "shared"] * 39}, 39),
    ],
)
def test_each_indexer_of_sparse_attention_caches_132_bytes(more: dict[str, Any], layers: int) -> None:
    assert facts_of({"model_type": "glm_moe_dsa", **more})["indexer_bytes"] == layers * 132


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


@pytest.mark.parametrize("method", ["hqq", "aqlm", "spqr"])
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
    try:
        facts = facts_of(config)
    except ConfigError:
        return
    for name, value in facts.items():
        assert value is None or (isinstance(value, str) if name in ("architecture", "dtype") else value >= 0), name
    quantization_of(config)
    active_share(config)
