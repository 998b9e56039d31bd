"""Names that resemble those of known models."""

import pytest

from llm_hosting.catalog.model_names import nearest_known, probably_meant, quantized_siblings


@pytest.mark.parametrize(
    ("hub_id", "near"),
    [
        ("my-org/Qwen3-8B-tuned", "Qwen/Qwen3-8B"),
        ("my-org/meta-llama-3.1-8b-tuned", "meta-llama/Meta-Llama-3.1-8B"),
        ("my-org/our_qwen2.5_7b_instruct", "Qwen/Qwen2.5-7B-Instruct"),
        ("my-org/Qwen3-8B", "Qwen/Qwen3-8B"),
        ("my-org/Qwen3-9B-tuned", None),  # another size
        ("my-org/Qwen3-8B.5-tuned", None),  # the known name is not a whole part of it
        ("acme/unheard-V2", None),
        ("nobody/knows-this", None),
    ],
)
def test_a_name_is_like_the_longest_known_one_that_it_holds_whole(hub_id: str, near: str | None) -> None:
    assert nearest_known(hub_id) == near


@pytest.mark.parametrize(
    ("hub_id", "meant"),
    [
        ("meta-lama/Llama-3.1-8B-Instruct", "meta-llama/Llama-3.1-8B-Instruct"),
        ("meta-llama/Llama-3.1-8B-Instuct", "meta-llama/Llama-3.1-8B-Instruct"),
        ("meta-llama/Llama3.1-8B-Instruct", "meta-llama/Llama-3.1-8B-Instruct"),
        ("meta-llama/Meta-Llama-3.2-1B", "meta-llama/Llama-3.2-1B"),
        ("openai/gptoss-20b", None),  # words are not joined
        ("Qwen/Qwen3-9B", None),  # another size
        ("Qwen/Qwen3-8B-Tuned", None),  # one more word
        ("unsloth/Qwen3-8B-Base-of-ours", None),
        ("my-org/Llama-3.1-8B-Instruct", None),  # somebody's copy
        ("bigscience/blooms-7b1", None),
    ],
)
def test_a_slip_is_told_from_another_model(hub_id: str, meant: str | None) -> None:
    assert probably_meant(hub_id) == meant


@pytest.mark.parametrize(
    ("hub_id", "siblings"),
    [
        ("Qwen/Qwen3-32B", {"Qwen/Qwen3-32B-AWQ", "Qwen/Qwen3-32B-FP8"}),
        (
            "Qwen/Qwen3-30B-A3B",
            {"Qwen/Qwen3-30B-A3B-FP8"},
        ),  # Instruct-2507 and Coder have its shape, but are other models
        ("meta-llama/Llama-2-7b-hf", {"TheBloke/Llama-2-7B-AWQ"}),
        ("Qwen/Qwen3-32B-AWQ", set()),
        ("nobody/knows-this", set()),
    ],
)
def test_packed_weights_of_the_same_model_are_its_siblings(hub_id: str, siblings: set[str]) -> None:
    assert set(quantized_siblings(hub_id)) == siblings
