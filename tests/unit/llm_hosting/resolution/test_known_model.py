"""Facts of a lock and of the catalog's row together."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llm_hosting.catalog.models import ModelShape, model_shape, model_shapes
from llm_hosting.resolution.known_model import known_shape
from support.deployments.good_one import Changes, findings, lock_with

SHAPES = model_shapes()
PINNED = "0123456789012345678901234567890123456789"
# Each is refused by the row, and its lock does not say why.
EXAMPLES: dict[str, tuple[str, Changes]] = {
    "a version that the model needs": (
        "architecture-fits-engine",
        {
            "model": {"id": "mistralai/Devstral-Small-2-24B-Instruct-2512"},
            "serving": {"version": "0.33.0-lmi15"},
            "hosting": {"instance_type": "ml.g6e.12xlarge"},
            "lock": {"architecture": "Mistral3ForConditionalGeneration", "parameters_in_billions": 24, "heads": 32},
        },
    ),
    "a version of another engine": (
        "architecture-fits-engine",
        {
            "model": {"id": "mistralai/Mixtral-8x7B-v0.1"},
            "serving": {"engine": "tgi", "version": "1.3.1"},
            "hosting": {"instance_type": "ml.p4d.24xlarge"},
            "lock": {"architecture": "MixtralForCausalLM", "parameters_in_billions": 46.7},
        },
    ),
    "a context that the lock lacks": (
        "length-fits-model",
        {
            "model": {"id": "google/gemma-3-4b-it"},
            "serving": {"max_model_len": 200_000},
            "hosting": {"instance_type": "ml.g6e.12xlarge"},
            "lock": {"architecture": "Gemma3ForConditionalGeneration", "parameters_in_billions": 4.3},
        },
    ),
}


def known(shape: ModelShape) -> dict[str, Any]:
    return {
        name: fact for name, fact in vars(shape).items() if fact not in (None, "", {}) and name not in ("ids", "source")
    }


@given(st.sampled_from(SHAPES), st.sampled_from([None, "main", PINNED]), st.data())
def test_lock_and_row_never_know_less_than_the_row(row: ModelShape, revision: str | None, data: st.DataObject) -> None:
    facts = known(row)
    locked = data.draw(st.sets(st.sampled_from(sorted(facts.keys() - {"needs"}))))
    told = {name: vars(facts[name]) if name == "vision" else facts[name] for name in locked}
    lock = lock_with(row.ids[0], {"revision": revision, **told})
    found = known_shape(row.ids[0], lock)
    assert found is not None
    assert known(found) == facts


@pytest.mark.parametrize("example", EXAMPLES)
def test_a_verdict_is_no_better_for_a_lock_that_does_not_say_why(example: str) -> None:
    rule, changes = EXAMPLES[example]
    without = {name: value for name, value in changes.items() if name != "lock"}
    for each in (without, changes):
        assert rule in {finding.rule for finding in findings(each) if finding.level == "error"}


def test_a_fact_of_the_lock_wins() -> None:
    found = known_shape("Qwen/Qwen3-4B", lock_with("Qwen/Qwen3-4B", {"context": 262144, "gated": True}))
    assert found
    assert (found.context, found.gated, found.heads) == (262144, True, 32)


def test_plain_files_under_the_id_of_a_quantized_model_stay_plain() -> None:
    row = model_shape("deepseek-ai/DeepSeek-V3")
    assert row
    assert row.quantization == "fp8"
    plain = lock_with(row.ids[0], {"dtype": "bf16", "parameters_in_billions": 671, "weights_in_gb": 1342})
    found = known_shape(row.ids[0], plain)
    assert found
    assert (found.quantization, found.quantization_block) == (None, None)


def test_an_older_revision_may_need_less_than_the_row() -> None:
    model = {"id": "mistralai/Mixtral-8x7B-v0.1", "revision": PINNED}
    facts = {"architecture": "MixtralForCausalLM", "parameters_in_billions": 46.7, "revision": PINNED}
    changes = {"model": model, "serving": {"engine": "tgi", "version": "1.3.1"}, "lock": facts}
    found = {(each.rule, each.level) for each in findings({**changes, "hosting": {"instance_type": "ml.p4d.24xlarge"}})}
    assert ("support-is-known", "unknown") in found
    assert "error" not in {level for _, level in found}


def test_a_lock_of_another_model_says_nothing() -> None:
    assert known_shape("Qwen/Qwen3-4B", lock_with("Qwen/Qwen3-8B", {"heads": 1})) == model_shape("Qwen/Qwen3-4B")
    assert known_shape("nobody/knows-this", None) is None
