"""The resolution of a deployment: image, host image, request bodies, and the lines that a synth prints."""

from typing import Any

import pytest

from llm_hosting.resolution import Resolution
from llm_hosting.resolution.description import describe
from support.deployments.good_one import ASYNC, ON_EC2, OWN_REGISTRY, Changes, deployment
from support.deployments.good_one import resolved as resolved_from

GPU_3, GPU_4 = "al2-ami-sagemaker-inference-gpu-3-1", "al2023-ami-sagemaker-inference-gpu-4-1"
CPU_VERSION = "2.6.0-transformers5.5.3-cpu"
OWN_IMAGE = f"{OWN_REGISTRY}/lmi:1"


def resolved(instance_type: str | list[str] = "ml.g6.2xlarge", **serving: Any) -> Resolution:
    return resolved_from({"serving": serving, "hosting": {"instance_type": instance_type}})


def lines(changes: Changes) -> str:
    return "\n".join(describe("chat", resolved_from(changes), []))


def test_the_image_is_the_catalogs_for_engine_and_version() -> None:
    resolution = resolved(version="0.36.0-lmi24")
    assert resolution.image == "djl-inference:0.36.0-lmi24.0.0-cu129"
    assert resolution.version == "0.36.0-lmi24"


def test_the_default_version_is_the_catalogs() -> None:
    assert resolved().image == resolved(version="0.36.0-lmi28").image


def test_an_image_of_ones_own_wins() -> None:
    resolution = resolved(image_uri=OWN_IMAGE, version="0.36.0-lmi24")
    assert (resolution.image, resolution.version) == (OWN_IMAGE, "")


def test_a_version_that_the_catalog_does_not_know_has_no_image() -> None:
    assert (resolved(version="9.9").image, resolved(version="9.9").version) == ("", "")


@pytest.mark.parametrize(
    ("serving", "bodies"),
    [
        ({}, ("inputs", "messages", "prompt")),
        ({"version": "0.31.0-lmi13"}, ("inputs", "messages")),
        ({"engine": "lmi-deepspeed"}, ("inputs",)),
        ({"engine": "vllm"}, ("messages", "prompt")),
        ({"image_uri": OWN_IMAGE}, ("inputs", "messages", "prompt")),  # those of its engine
        (
            {"image_uri": f"{OWN_REGISTRY}/vllm:server-sagemaker-cuda-v2.2"},
            ("messages", "prompt"),
        ),  # those of the recognised image
        (
            {"image_uri": OWN_IMAGE, "version": "0.31.0-lmi13"},
            ("inputs", "messages"),
        ),  # those of the version in the file
    ],
)
def test_the_request_bodies_are_those_of_the_image(serving: dict[str, Any], bodies: tuple[str, ...]) -> None:
    assert resolved(**serving).bodies == bodies


@pytest.mark.parametrize(
    ("instance_type", "serving", "expected"),
    [
        ("ml.g6.2xlarge", {"version": "0.36.0-lmi28"}, GPU_4),
        ("ml.g6.2xlarge", {"version": "0.36.0-lmi20"}, None),
        ("ml.g5.xlarge", {"version": "0.36.0-lmi20"}, GPU_3),
        ("ml.g5.xlarge", {"engine": "tgi", "version": "0.9.3"}, None),
        ("ml.g6.xlarge", {"image_uri": OWN_IMAGE}, None),
        ("ml.g6.xlarge", {"image_uri": f"{OWN_IMAGE}-cu130"}, GPU_4),
        ("ml.g6.xlarge", {"image_uri": f"{OWN_REGISTRY}/vllm:server-sagemaker-cuda-v2.2"}, GPU_4),
        ("ml.p6-b200.48xlarge", {"version": "0.36.0-lmi28"}, None),  # no source states which host image runs there
        (["ml.g6.xlarge", "ml.g5.xlarge"], {"version": "0.36.0-lmi20", "tensor_parallel_degree": 1}, GPU_3),
        (["ml.g6.xlarge", "ml.p6-b200.48xlarge"], {"version": "0.36.0-lmi28", "tensor_parallel_degree": 1}, None),
        ("ml.c7i.4xlarge", {"engine": "huggingface", "version": CPU_VERSION}, None),
        ("ml.inf2.8xlarge", {"engine": "lmi-neuronx"}, None),
    ],
)
def test_the_host_image_follows_the_cuda_version_of_the_container(
    instance_type: str | list[str], serving: dict[str, Any], expected: str | None
) -> None:
    assert resolved(instance_type, **serving).inference_ami_version == expected


def test_an_explicit_host_image_wins() -> None:
    hosting = {"hosting": {"instance_type": "ml.g6.2xlarge", "inference_ami_version": GPU_3}}
    assert resolved_from(hosting).inference_ami_version == GPU_3


@pytest.mark.parametrize(
    ("serving", "cuda"),
    [
        ({"version": "0.36.0-lmi28"}, 13),
        ({"version": "0.36.0-lmi24"}, 12.9),
        ({"image_uri": f"{OWN_IMAGE}-cu118-py310"}, 11),
        ({"image_uri": OWN_IMAGE}, None),
        ({"image_uri": f"{OWN_REGISTRY}/llama-cpp:server-sagemaker-cpu-v1.0.1"}, None),
        ({"engine": "huggingface", "version": CPU_VERSION}, None),
    ],
)
def test_cuda_is_the_catalogs_or_in_the_name_of_the_image(serving: dict[str, Any], cuda: float | None) -> None:
    assert resolved(**serving).cuda == cuda


def test_the_synth_names_the_price_of_an_idle_endpoint() -> None:
    said = lines({"hosting": {"instance_count": {"min": 1, "max": 3}}})
    assert "cost      about 1.22 to 3.67 USD an hour until the stack is destroyed: the count never reaches zero" in said


def test_the_synth_names_the_price_of_an_endpoint_that_goes_to_zero() -> None:
    said = lines({"hosting": ASYNC})
    assert "0 to 2 x ml.g6.2xlarge" in said
    assert "cost      about 1.22 to 2.44 USD an hour while jobs run: the count goes to zero when idle" in said


def test_the_synth_names_the_hardware() -> None:
    assert f"instance  1 x ml.g6.2xlarge (1 x NVIDIA L4, 22 GiB each), host image {GPU_4}" in lines({})
    cpu = {"serving": {"engine": "huggingface", "version": CPU_VERSION}, "hosting": {"instance_type": "ml.m7i.xlarge"}}
    assert "1 x ml.m7i.xlarge (4 vCPU, 16 GiB), host image by default" in lines(cpu)
    pool: Changes = {"hosting": {"instance_type": ["ml.g6.2xlarge", "ml.g5.2xlarge"]}}
    assert f"host image {GPU_4}, otherwise ml.g5.2xlarge" in lines(pool)


def test_the_synth_names_the_registry_of_the_image() -> None:
    assert "djl-inference:0.36.0-lmi28.0.0-cu130 from the image account of the region" in lines({})
    own = lines({"serving": {"image_uri": OWN_IMAGE}})
    assert "on lmi-vllm of an own image" in own
    assert f"image     {OWN_IMAGE}\n" in own


def test_a_real_time_call_has_sagemakers_own_limit() -> None:
    jobs = {"jobs": {"invocation_timeout_in_seconds": 900}}
    assert deployment(jobs).invocation_timeout_in_seconds == 60
    assert deployment({**jobs, "hosting": ASYNC}).invocation_timeout_in_seconds == 900


def test_a_synth_says_of_a_machine_what_it_costs_awake_and_names_no_endpoint() -> None:
    said = lines(ON_EC2)
    assert "resolve:ssm:/aws/service/ami-amazon-linux-latest/al2023-ami-kernel-default-x86_64\n" in said
    assert "1 x c5.xlarge (4 vCPU, 8 GiB)\n" in said
    assert "about 0.17 USD an hour while there is work, and 30 minutes longer; then the disk alone" in said
    assert "endpoint" not in said


def test_a_machine_takes_four_requests_at_once_unless_told() -> None:
    assert resolved_from(ON_EC2).machine_batch_size == 4
    told = ON_EC2 | {"serving": {"engine": "transformers", "max_batch_size": 9}}
    assert resolved_from(told).machine_batch_size == 9


def test_a_machine_has_room_for_its_system_beside_the_weights() -> None:
    def disk(**model: Any) -> int | None:
        return resolved_from(ON_EC2 | {"model": model}).placements[0].disk_in_gb

    assert disk(id="openai-community/gpt2") == 16 + 1
    assert disk(id="Qwen/Qwen3-4B") == 16 + 9
    assert disk(id="nobody/knows-this") == 16 + 16


@pytest.mark.parametrize(
    ("model", "has_one"), [("Qwen/Qwen3-4B", True), ("openai-community/gpt2", False), ("my-org/unknown", False)]
)
def test_the_functions_know_of_a_chat_template_that_the_catalog_knows(model: str, has_one: bool) -> None:
    facts = resolved_from({"model": {"id": model}}).openai_facts
    assert facts.get("chat_template", False) is has_one
