"""A container on an instance type: degree, copies."""

from typing import Any

import pytest

from llm_hosting.catalog.models import model_shapes
from llm_hosting.preflight.rules.rule import RULES
from llm_hosting.resolution import Placement
from support.deployments.good_one import OWN_REGISTRY, Changes, resolved

TWELVE, FORTY_EIGHT = "ml.g6.12xlarge", "ml.g6.48xlarge"
DEGREE_RULES = {"degree-fits-instance", "heads-divisible-by-degree", "blocks-fit-degree"}


def placement(model: Changes | None = None, instance_type: str = "ml.g6.2xlarge", **serving: Any) -> Placement:
    changes = {"model": model or {}, "serving": serving, "hosting": {"instance_type": instance_type}}
    return resolved(changes).placements[0]


def test_a_pool_has_a_placement_for_each_type_that_is_known() -> None:
    changes: Changes = {"hosting": {"instance_type": ["ml.g6.2xlarge", "ml.g6.3xlarge", "ml.g5.2xlarge"]}}
    assert [each.instance.type for each in resolved(changes).placements] == ["ml.g6.2xlarge", "ml.g5.2xlarge"]


@pytest.mark.parametrize(
    ("serving", "degree"),
    [
        ({}, 4),  # all
        ({"tensor_parallel_degree": 2}, 2),
        ({"environment": {"TENSOR_PARALLEL_DEGREE": "2"}}, 2),
        ({"environment": {"OPTION_TENSOR_PARALLEL_DEGREE": "2"}}, 2),
        ({"environment": {"TENSOR_PARALLEL_DEGREE": "max"}}, 4),
        ({"environment": {"SM_NUM_GPUS": "2"}, "engine": "tgi"}, 2),
        ({"environment": {"SM_VLLM_TENSOR_PARALLEL_SIZE": "2"}, "engine": "vllm"}, 2),
        ({"environment": {"SM_SGLANG_TP_SIZE": "2"}, "engine": "sglang"}, 2),
        ({"tensor_parallel_degree": 4, "environment": {"TENSOR_PARALLEL_DEGREE": "2"}}, 2),  # the variable wins
        (
            {"tensor_parallel_degree": 2, "environment": {"SM_VLLM_TENSOR_PARALLEL_SIZE": "4"}},
            2,
        ),  # a variable of another engine
        ({"environment": {"TENSOR_PARALLEL_DEGREE": ""}}, 4),
        ({"engine": "huggingface"}, 1),  # one copy on one accelerator
        ({"engine": "llama-cpp", "version": "1.0.1-cuda"}, 1),
        ({"image_uri": f"{OWN_REGISTRY}/own:1"}, 4),
        ({"image_uri": f"{OWN_REGISTRY}/own:1", "tensor_parallel_degree": 2}, 2),
        ({"image_uri": f"{OWN_REGISTRY}/own:1", "engine": "custom"}, 4),
    ],
)
def test_the_degree_is_the_one_that_the_container_reads(serving: Changes, degree: int) -> None:
    assert placement(instance_type=TWELVE, **serving).degree == degree


@pytest.mark.parametrize(
    ("model", "instance_type", "degree"),
    [
        ("Qwen/Qwen2.5-7B-Instruct", FORTY_EIGHT, 4),  # 28 heads on 8 accelerators
        ("microsoft/phi-4", FORTY_EIGHT, 2),  # 10 key and value heads
        ("Qwen/Qwen3-30B-A3B", FORTY_EIGHT, 8),  # 4 of them, which are copied
        ("tiiuae/falcon-7b", TWELVE, 1),  # 71 heads
        ("nobody/knows-this", FORTY_EIGHT, 8),
        ("Qwen/Qwen3-30B-A3B-FP8", FORTY_EIGHT, 2),  # 768 rows of an expert, in blocks of 128
        ("Qwen/Qwen2.5-7B-Instruct-AWQ", FORTY_EIGHT, 4),
    ],
)
def test_the_default_degree_follows_from_heads_and_blocks(model: str, instance_type: str, degree: int) -> None:
    found = placement({"id": model}, instance_type)
    assert found.degree == degree
    assert found.container.environment["TENSOR_PARALLEL_DEGREE"] == str(degree)
    assert found.copies == found.devices // degree


@pytest.mark.parametrize("instance_type", [TWELVE, FORTY_EIGHT, "ml.p5.48xlarge"])
@pytest.mark.parametrize("engine", ["lmi-vllm", "vllm", "sglang"])
def test_no_rule_refuses_the_default_degree(engine: str, instance_type: str) -> None:
    laws = [rule for rule in RULES if rule.id in DEGREE_RULES]
    assert len(laws) == len(DEGREE_RULES)
    for shape in model_shapes():
        serving = {"engine": engine}
        judged = resolved(
            {"model": {"id": shape.ids[0]}, "serving": serving, "hosting": {"instance_type": instance_type}}
        )
        assert [finding.message for law in laws for finding in law.findings(judged)] == []


@pytest.mark.parametrize(
    ("variables", "degree"),
    [
        ({"SM_VLLM_PIPELINE_PARALLEL_SIZE": "2"}, 4),
        ({"SM_VLLM_PIPELINE_PARALLEL_SIZE": "2", "SM_VLLM_DATA_PARALLEL_SIZE": "2"}, 2),
        ({"SM_VLLM_DATA_PARALLEL_SIZE": "16"}, 1),
    ],
)
def test_stages_and_replicas_leave_fewer_devices_to_the_default_degree(variables: Changes, degree: int) -> None:
    assert placement(instance_type=FORTY_EIGHT, engine="vllm", environment=variables).degree == degree


def test_servers_of_one_copy_leave_the_other_devices_idle() -> None:
    model = {"id": "Qwen/Qwen2.5-7B-Instruct"}
    assert placement(model, FORTY_EIGHT, engine="lmi-vllm").copies == 2  # DJL Serving starts a worker for each
    assert placement(model, FORTY_EIGHT, engine="vllm").copies == 1
    replicas = {"SM_VLLM_DATA_PARALLEL_SIZE": "2"}
    assert placement(model, FORTY_EIGHT, engine="vllm", environment=replicas).copies == 2


def test_experts_that_lie_whole_on_a_device_leave_the_degree_to_the_heads() -> None:
    model, variables = {"id": "Qwen/Qwen3-30B-A3B-FP8"}, {"SM_VLLM_ENABLE_EXPERT_PARALLEL": "true"}
    assert placement(model, FORTY_EIGHT, engine="vllm", environment=variables).degree == 8


def test_a_cpu_type_has_one_copy() -> None:
    found = placement(
        instance_type="ml.m7i.2xlarge", engine="huggingface", environment={"TENSOR_PARALLEL_DEGREE": "max"}
    )
    assert (found.devices, found.degree, found.copies) == (0, 1, 1)


def test_on_neuron_cores_count_and_heads_are_padded() -> None:
    found = placement({"id": "facebook/opt-30b"}, "ml.inf2.24xlarge", engine="lmi-neuronx")
    assert (found.devices, found.degree) == (12, 12)  # 56 heads
