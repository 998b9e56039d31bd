"""The facts that `slipway lock` reads from config.json agree with transformers, whose defaults models rely on."""

import importlib
import json
from typing import Any

import pytest

from slipway.locking.model_config import active_share, facts_of

torch = importlib.import_module("torch")
transformers = importlib.import_module("transformers")

# All layers are of one kind, so that each has its own cache.
PLAIN = [
    "apertus",
    "arcee",
    "aria_text",
    "biogpt",
    "bitnet",
    "codegen",
    "cohere",
    "cohere2",
    "csm",
    "deepseek_v2",
    "deepseek_v3",
    "dots1",
    "ernie4_5",
    "ernie4_5_moe",
    "exaone4",
    "falcon",
    "flex_olmo",
    "gemma",
    "gemma2",
    "gemma3",
    "gemma3_text",
    "glm",
    "glm4",
    "glm4_moe",
    "gpt_bigcode",
    "gpt_neox",
    "gpt_oss",
    "gpt2",
    "gptj",
    "granite",
    "granitemoe",
    "helium",
    "hunyuan_v1_dense",
    "internvl",
    "jais2",
    "llama",
    "llama4",
    "llama4_text",
    "llava",
    "minimax_m2",
    "ministral",
    "mistral",
    "mistral3",
    "mixtral",
    "mllama",
    "mpt",
    "nanochat",
    "nemotron",
    "olmo",
    "olmo2",
    "olmo3",
    "olmoe",
    "opt",
    "paligemma",
    "persimmon",
    "phi",
    "phi3",
    "phimoe",
    "qwen2",
    "qwen2_5_vl",
    "qwen2_moe",
    "qwen2_vl",
    "qwen3",
    "qwen3_moe",
    "qwen3_vl",
    "seed_oss",
    "smollm3",
    "smolvlm",
    "solar_open",
    "stablelm",
    "starcoder2",
    "vaultgemma",
]
# Layers with keys and values.
HYBRIDS = {
    "falcon_mamba": None,
    "jamba": 4,
    "lfm2": 32,
    "longcat_flash": 56,
    "mamba": None,
    "mamba2": None,
    "minimax": 16,
    "nemotron_h": 1,
    "olmo_hybrid": 8,
    "qwen3_next": 12,
    "recurrent_gemma": 8,
    "zamba2": 9,
}
MIXTURES = [
    "deepseek_v3",
    "ernie4_5_moe",
    "glm4_moe",
    "jamba",
    "llama4_text",
    "minimax_m2",
    "mixtral",
    "nemotron_h",
    "olmoe",
    "qwen3_next",
]


def config_of(model_type: str) -> tuple[Any, dict[str, Any]]:
    """Return the defaults of a class and the config.json that it saves."""
    config = transformers.CONFIG_MAPPING[model_type]()
    return config, json.loads(json.dumps(config.to_dict(), default=str))


@pytest.mark.parametrize("model_type", PLAIN)
def test_the_facts_of_a_lock_are_those_of_the_class(model_type: str) -> None:
    config, saved = config_of(model_type)
    text = config.get_text_config(decoder=True)
    found = facts_of(saved)
    names = {
        "layers": "num_hidden_layers",
        "heads": "num_attention_heads",
        "kv_heads": "num_key_value_heads",
        "hidden_size": "hidden_size",
        "vocabulary": "vocab_size",
        "context": "max_position_embeddings",
    }
    said = {fact: getattr(text, name, None) for fact, name in names.items()}
    assert {fact: found[fact] for fact, value in said.items() if value} == {f: v for f, v in said.items() if v}
    latent = getattr(text, "qk_nope_head_dim", 0)
    size = latent + text.qk_rope_head_dim if latent else getattr(text, "head_dim", None)
    assert found["head_size"] == (size or text.hidden_size // text.num_attention_heads)


@pytest.mark.parametrize("model_type", HYBRIDS)
def test_only_layers_with_a_cache_of_a_hybrid_model_are_counted(model_type: str) -> None:
    assert facts_of(config_of(model_type)[1])["layers"] == HYBRIDS[model_type]


@pytest.mark.parametrize("model_type", MIXTURES)
def test_the_experts_are_as_large_as_the_model_s_own(model_type: str) -> None:
    config, saved = config_of(model_type)
    with torch.device("meta"):
        model = transformers.AutoModelForCausalLM.from_config(config)
    experts = sum(each.numel() for name, each in model.named_parameters() if ".experts." in name)
    share = active_share(saved)
    assert share
    assert share[0] == experts
    assert 0 < share[1] < share[0]
