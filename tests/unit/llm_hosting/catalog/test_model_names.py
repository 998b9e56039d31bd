"""What the name of a repository says of its model."""

import pytest

from llm_hosting.catalog.model_names import quantization_in_name, shape_of, size_in_name
from llm_hosting.catalog.models import model_shape, model_shapes


@pytest.mark.parametrize(
    ("hub_id", "billions"),
    [
        ("nobody/knows-this-7b", 7),
        ("nobody/knows-this-7B-instruct", 7),
        ("nobody/knows-this-0.5b", 0.5),
        ("nobody/knows-this-350m", 0.35),
        ("nobody/knows_this_13b_v2", 13),
        ("nobody/knows-this-1.5B.gguf", 1.5),
        ("nobody/knows-this-8x7b", 8 * 7 * 0.82),
        ("7b-labs/knows-this", None),  # the owner's name says nothing
        ("nobody/knows-this", None),
        ("nobody/knows-this-4bit", None),
        ("nobody/knows-this-v7", None),
        ("gpt2", None),
    ],
)
def test_the_size_is_a_word_of_its_own(hub_id: str, billions: float | None) -> None:
    assert size_in_name(hub_id) == (None if billions is None else pytest.approx(billions))


@pytest.mark.parametrize(
    ("hub_id", "quantization"),
    [
        ("TheBloke/Llama-2-7B-AWQ", "awq"),
        ("TheBloke/Llama-2-7B-GPTQ", "gptq"),
        ("RedHatAI/anything-quantized.w4a16", "gptq"),
        ("RedHatAI/gemma-2-9b-it-FP8", "fp8"),
        ("RedHatAI/anything-quantized.w8a8", "int8"),
        ("unsloth/anything-bnb-4bit", "bitsandbytes4"),
        ("Qwen/Qwen2.5-0.5B-Instruct-GGUF", "gguf"),
        ("Qwen/Qwen3-4B", None),
    ],
)
def test_a_format_is_known_by_its_usual_word(hub_id: str, quantization: str | None) -> None:
    assert quantization_in_name(hub_id) == quantization


@pytest.mark.parametrize(
    ("repack", "of"),
    [
        ("someone/Llama-2-7B-Chat-AWQ", "NousResearch/Llama-2-7b-hf"),
        ("someone/Qwen3-8B-FP8-dynamic", "Qwen/Qwen3-8B"),
        ("someone/Qwen3-8B-of-ours", "Qwen/Qwen3-8B"),
        ("someone/Mixtral-8x7B-Instruct-v0.1-GPTQ", "mistralai/Mixtral-8x7B-Instruct-v0.1"),
    ],
)
def test_a_repack_or_fine_tune_has_the_shape_of_its_model(repack: str, of: str) -> None:
    shape, model = shape_of(repack), model_shape(of)
    assert shape is not None
    assert model is not None
    assert (shape.architecture, shape.layers, shape.heads, shape.kv_heads) == (
        model.architecture,
        model.layers,
        model.heads,
        model.kv_heads,
    )
    assert shape.ids == (repack,)
    assert shape.quantization == quantization_in_name(repack)
    assert (shape.weights_in_gb, shape.gated) == (None, False)  # what only its own repository says


def test_a_fine_tune_may_have_another_context() -> None:
    repack, tuned, model = (shape_of(f"x/{name}") for name in ("Qwen3-8B-AWQ", "Qwen3-8B-128k-ours", "Qwen3-8B"))
    assert repack is not None
    assert tuned is not None
    assert model is not None
    assert (repack.context, tuned.context) == (model.context, None)


@pytest.mark.parametrize("hub_id", ["nobody/knows-this", "nobody/knows-this-8b", "someone/8B", "Qwen", "gpt2-of-ours"])
def test_no_name_is_taken_for_a_model_that_it_does_not_hold(hub_id: str) -> None:
    assert shape_of(hub_id) is None


def test_letters_may_be_large_or_small() -> None:
    assert shape_of("qwen/qwen3-4b") == shape_of("Qwen/Qwen3-4B")


def test_the_catalog_wins_over_a_name() -> None:
    for shape in model_shapes():
        for hub_id in shape.ids:
            assert shape_of(hub_id) == model_shape(hub_id)


def test_a_model_stands_in_the_catalog_once() -> None:
    ids = [hub_id.lower() for shape in model_shapes() for hub_id in shape.ids]
    assert sorted(set(ids)) == sorted(ids)
