"""LoRA adapters: the variables of the container, and the memory that they take."""

from typing import Any

import pytest

from llm_hosting.resolution import Memory
from llm_hosting.resolution.adapter_memory import adapters_on_host
from support.deployments.good_one import deployment, resolved

LEGAL = "s3://bucket/legal/"


def facts(rank: int = 16, **changes: Any) -> dict[str, Any]:
    """Return an adapter of Qwen3-4B as a lock holds it."""
    return {
        "source": LEGAL,
        "commit": None,
        "base": "Qwen/Qwen3-4B",
        "base_revision": None,
        "rank": rank,
        "alpha": 32,
        "target_modules": ["q_proj"],
        "modules_to_save": [],
        "use_dora": False,
        "dtype": "BF16",
        "bytes": 20_000_000,
        "layers": 36,
        "modules": {"q_proj": [2560, 4096]},
        "others": [],
        "files": {},
    } | changes


def changes(*ranks: int, **sections: Any) -> dict[str, Any]:
    """Return a deployment with adapters of these ranks, locked."""
    names = [f"adapter-{number}" for number, _ in enumerate(ranks)]
    locked = {name: facts(rank) for name, rank in zip(names, ranks, strict=True)}
    return {"model": {"adapters": dict.fromkeys(names, LEGAL)}, "lock": {"adapters": locked}} | sections


def memory(given: dict[str, Any]) -> Memory:
    return resolved(given).placements[0].memory


@pytest.mark.parametrize(("ranks", "rank"), [((8,), "16"), ((16,), "16"), ((17, 8), "32"), ((200,), "256")])
def test_the_rank_is_the_smallest_that_holds_all_and_at_least_the_usual_one(ranks: tuple[int, ...], rank: str) -> None:
    assert resolved(changes(*ranks)).environment["OPTION_MAX_LORA_RANK"] == rank


def test_an_explicit_variable_wins() -> None:
    given = changes(16, serving={"environment": {"OPTION_MAX_LORA_RANK": "64", "OPTION_MAX_LORAS": "8"}})
    found = resolved(given).environment
    assert (found["OPTION_MAX_LORA_RANK"], found["OPTION_MAX_LORAS"]) == ("64", "8")


def test_no_variable_follows_from_the_number_of_adapters() -> None:
    assert resolved(changes(16)).environment == resolved(changes(16, 16, 16)).environment
    assert not [name for name in resolved({}).environment if "LORA" in name or "ADAPTER" in name]


def test_each_linear_layer_has_room_for_all_that_a_batch_may_use() -> None:
    # Of Qwen3-4B: inputs and outputs of seven modules, 36 layers; four adapters of 16 bits.
    per_layer = (2560 + 4096) * 2 + (2560 + 1024) * 2 + (2560 + 9728) * 3
    assert memory(changes(16)).adapters == 4 * 16 * 2 * per_layer * 36
    assert memory(changes(16, 16, 16)).adapters == memory(changes(16)).adapters
    assert memory(changes(64)).adapters == 4 * memory(changes(16)).adapters
    assert memory({}).adapters == 0


def test_they_are_taken_from_the_cache() -> None:
    plain, adapted = memory({"lock": {}}), memory(changes(64))
    assert plain.left_for_cache is not None
    assert adapted.left_for_cache == plain.left_for_cache - adapted.adapters
    assert adapted.share_needed > plain.share_needed


def test_tensor_parallelism_divides_half_of_the_work() -> None:
    hosting = {"instance_type": "ml.g6.12xlarge"}
    four = memory(changes(16, hosting=hosting, serving={"tensor_parallel_degree": 4})).adapters
    one = memory(changes(16)).adapters
    assert one / 4 < four < one


def test_a_mixture_counts_what_its_adapters_adapt() -> None:
    given = changes(16)
    given["model"]["id"] = "Qwen/Qwen3-30B-A3B"
    given["hosting"] = {"instance_type": "ml.g6e.12xlarge"}
    given["serving"] = {"tensor_parallel_degree": 1}
    assert memory(given).adapters == 4 * 16 * 2 * (2560 + 4096) * 36


def test_the_host_holds_the_adapters_at_the_size_of_their_files() -> None:
    assert adapters_on_host(deployment(changes(16, 16))) == 40_000_000
    assert adapters_on_host(deployment(changes(*[16] * 40))) == 32 * 20_000_000


def test_a_flag_without_adapters_reserves_the_same() -> None:
    given = {"serving": {"environment": {"OPTION_ENABLE_LORA": "true"}}}
    assert memory(given).adapters == memory(changes(16)).adapters
