"""The rows of the catalog's models and architectures are consistent."""

import json
from collections import Counter
from dataclasses import asdict, fields
from pathlib import Path

import pytest

import llm_hosting.catalog
from llm_hosting.catalog.architectures import architectures
from llm_hosting.catalog.engines import engine
from llm_hosting.catalog.laws import problems_of_model
from llm_hosting.catalog.layers import CatalogError
from llm_hosting.catalog.models import ModelShape, model_shape, model_shapes, shapes_of
from llm_hosting.catalog.row_types import problems

CATALOG = Path(next(iter(llm_hosting.catalog.__path__)))


def test_an_architecture_runs_from_one_version_on() -> None:
    versions = engine("lmi-vllm").versions
    old, new = versions["0.30.0-lmi12"].architectures, versions["0.36.0-lmi28"].architectures
    assert old is not None
    assert new is not None
    assert old.refused["Qwen3ForCausalLM"] == "vLLM runs it from 0.8.4 on"
    assert "Qwen3ForCausalLM" in new.known
    assert "MllamaForConditionalGeneration" in old.known
    assert new.refused["MllamaForConditionalGeneration"] == "vLLM ran it up to 0.10.2"
    assert "T5ForConditionalGeneration" in old.refused
    assert "T5ForConditionalGeneration" in new.refused


def test_a_model_may_need_a_later_version_than_its_architecture() -> None:
    before, after = architectures("tgi", "2.0.2"), architectures("tgi", "2.2.0")
    assert before.reason_against("LlamaForCausalLM", {}) is None
    for later in ({"needs": {"tgi": "2.2.0"}}, {"needs": {}, "rope": "llama3"}):
        assert before.reason_against("LlamaForCausalLM", **later) == "TGI runs it from 2.2.0 on"
        assert after.reason_against("LlamaForCausalLM", **later) is None


def test_post_releases_and_candidates_compare_as_versions() -> None:
    assert "LlamaForCausalLM" in architectures("vllm", "0.5.3.post1").known
    assert architectures("vllm", "0.5.3.post1").reason_against("LlamaForCausalLM", {"vllm": "0.5.4"})
    assert architectures("vllm", "0.5.3.post1").reason_against("LlamaForCausalLM", {"vllm": "0.5.3"}) is None
    assert "Qwen3_5ForConditionalGeneration" in architectures("vllm", "0.22.1rc0").known


def test_tgi_splits_gpt2_over_accelerators_only_later() -> None:
    assert "GPT2LMHeadModel" in architectures("tgi", "1.4.0").unsplit
    assert "GPT2LMHeadModel" not in architectures("tgi", "2.2.0").unsplit


@pytest.mark.parametrize("table", ["vllm", "tgi", "transformers", "lmi-neuronx", "sglang"])
def test_an_architecture_has_one_answer_per_table(table: str) -> None:
    rows = json.loads((CATALOG / "architectures.json").read_text())["tables"][table]
    assert not set(rows["since"]) & set(rows.get("never", {}))
    assert set(rows.get("until", {})) <= set(rows["since"])
    for name in rows.get("until", {}):
        assert name in architectures(table, rows["since"][name]).known
    assert set(rows.get("split_since", {})) <= set(rows["since"])


def test_a_hub_id_is_in_the_catalog_once_in_any_case() -> None:
    ids = Counter(hub_id.lower() for shape in model_shapes() for hub_id in shape.ids)
    assert [hub_id for hub_id, times in ids.items() if times > 1] == []
    assert model_shape("meta-llama/llama-3.1-8b") is model_shape("META-LLAMA/Llama-3.1-8B")
    assert model_shape("nobody/knows-this") is None


OPTIONAL = ("active_parameters_in_billions", "needs")
ROW: dict[str, object] = {column.name: None for column in fields(ModelShape) if column.name not in OPTIONAL}
ROW |= {"ids": ["me/mine"], "architecture": "LlamaForCausalLM", "parameters_in_billions": 7.0}


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([ROW | {"layer": 32}], "the row of ['me/mine'] has layer, which is not a column."),
        ([{k: ROW[k] for k in ROW if k != "layers"}], "['me/mine'] lacks layers; write null if it is not known."),
    ],
)
def test_a_wrong_row_is_named(rows: list[object], said: str) -> None:
    with pytest.raises(CatalogError) as refusal:
        shapes_of({"source": "", "models": rows})
    assert said in str(refusal.value)


def test_quantized_models_have_their_dividing_sizes() -> None:
    quantized = [shape for shape in model_shapes() if shape.quantization and shape.hidden_size]
    unknown = [shape.ids[0] for shape in quantized if shape.intermediate_size is None]
    assert len(unknown) < len(quantized) / 20, unknown


def demand_size_of_layers(shape: ModelShape) -> None:
    whole = shape.layers and shape.hidden_size and shape.source.startswith("config.json and the index")
    if not whole or shape.active_parameters_in_billions or shape.architecture.startswith(("T5", "InstructBlip")):
        return
    assert shape.layers is not None
    assert shape.hidden_size is not None
    layers = 12 * shape.layers * shape.hidden_size**2 / 1e9
    embeddings = 0.26e6 * shape.hidden_size / 1e9
    assert shape.parameters_in_billions is not None
    assert 0.7 * layers <= shape.parameters_in_billions <= 2.4 * layers + 2 * embeddings


def test_every_row_keeps_the_laws_and_the_types_of_its_columns() -> None:
    rows = [asdict(shape) | {"ids": list(shape.ids)} for shape in model_shapes()]
    assert [(row["ids"], found) for row in rows for found in problems(row, ModelShape)] == []
    assert [(shape.ids, found) for shape in model_shapes() for found in problems_of_model(shape)] == []


def test_parameters_and_layers_of_a_row_fit_each_other() -> None:
    wrong = []
    for shape in model_shapes():
        try:
            demand_size_of_layers(shape)
        except AssertionError as error:
            wrong.append(f"{shape.ids[0]}: {error}")
    assert wrong == []


def test_the_catalog_knows_the_models_of_published_examples() -> None:
    for hub_id in ("openai-community/gpt2", "google/flan-t5-xxl", "google/flan-ul2", "nomic-ai/gpt4all-j"):
        assert model_shape(hub_id), hub_id
    for hub_id in (
        "microsoft/bloom-deepspeed-inference-int8",
        "facebook/opt-30b",
        "Qwen/Qwen3-4B",
        "openai/gpt-oss-120b",
    ):
        assert model_shape(hub_id), hub_id


@pytest.mark.parametrize(
    "hub_id",
    [
        "Qwen/Qwen3.5-397B-A17B-FP8",
        "Qwen/Qwen3.6-27B",
        "deepseek-ai/DeepSeek-V4.1-Flash",
        "google/embeddinggemma-300m",
        "google/gemma-4-31B-it",
        "mistralai/Devstral-Small-2-24B-Instruct-2512",
        "moonshotai/Kimi-K2.7-Code",
        "nvidia/GLM-5.2-NVFP4",
        "nvidia/NVIDIA-Nemotron-3-Super-120B-A12B-NVFP4",
        "swiss-ai/Apertus-8B-Instruct-2509",
        "zai-org/GLM-5.3-Flash",
    ],
)
def test_the_catalog_knows_the_models_of_the_samples_of_aws(hub_id: str) -> None:
    assert model_shape(hub_id)
