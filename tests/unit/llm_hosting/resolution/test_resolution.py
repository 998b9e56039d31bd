"""What a deployment resolves to: image, host image, request bodies, and what people are told of it."""

from typing import Any

import pytest

from llm_hosting.container_settings import container_settings, invocation_timeout_in_seconds
from llm_hosting.deployment import Deployment
from llm_hosting.resolution import Resolution, container_cuda, describe, resolve
from rule_cases import ASYNC, OWN_REGISTRY, Changes, deployment

GPU_3, GPU_4 = "al2-ami-sagemaker-inference-gpu-3-1", "al2023-ami-sagemaker-inference-gpu-4-1"
CPU_VERSION = "2.6.0-transformers5.5.3-cpu"
OWN_IMAGE = f"{OWN_REGISTRY}/lmi:1"


def built(instance_type: str | list[str] = "ml.g6.2xlarge", **serving: Any) -> Deployment:
    return deployment({"serving": serving, "hosting": {"instance_type": instance_type}})


def resolved(instance_type: str | list[str] = "ml.g6.2xlarge", **serving: Any) -> Resolution:
    return resolve(built(instance_type, **serving))


def lines(changes: Changes) -> str:
    return "\n".join(describe("chat", deployment(changes)))


def test_the_image_is_the_catalogs_for_engine_and_version() -> None:
    resolution = resolved(version="0.36.0-lmi24")
    assert resolution.image == "djl-inference:0.36.0-lmi24.0.0-cu129"
    assert resolution.version == "0.36.0-lmi24"


def test_where_no_version_is_said_it_is_the_catalogs_default() -> None:
    assert resolved() == resolved(version="0.36.0-lmi28")


def test_an_image_of_ones_own_wins() -> None:
    resolution = resolved(image_uri=OWN_IMAGE, version="0.36.0-lmi24")
    assert (resolution.image, resolution.version) == (OWN_IMAGE, "")


def test_a_version_that_the_catalog_does_not_know_is_a_key_error() -> None:
    with pytest.raises(KeyError):
        resolved(version="9.9")


@pytest.mark.parametrize(
    ("serving", "bodies"),
    [
        ({}, ("inputs", "messages", "prompt")),
        ({"version": "0.31.0-lmi13"}, ("inputs", "messages")),
        ({"engine": "lmi-deepspeed"}, ("inputs",)),
        ({"engine": "vllm"}, ("messages", "prompt")),
        ({"image_uri": OWN_IMAGE}, ("inputs", "messages", "prompt")),  # as its engine says
        ({"image_uri": f"{OWN_REGISTRY}/vllm:server-sagemaker-cuda-v2.2"}, ("messages", "prompt")),  # as what it is
        ({"image_uri": OWN_IMAGE, "version": "0.31.0-lmi13"}, ("inputs", "messages")),  # as is said
    ],
)
def test_the_request_bodies_are_those_of_what_runs(serving: dict[str, Any], bodies: tuple[str, ...]) -> None:
    assert resolved(**serving).bodies == bodies


def test_the_settings_are_the_containers() -> None:
    for changes in ({}, {"engine": "lmi-deepspeed", "version": "0.26.0"}):
        settings, resolution = container_settings(built(**changes)), resolved(**changes)
        assert (resolution.environment, resolution.properties) == (settings.environment, settings.properties)


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
        ("ml.p6-b200.48xlarge", {"version": "0.36.0-lmi28"}, None),  # nobody says what runs there
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


def test_a_host_image_that_is_said_is_taken() -> None:
    hosting = {"hosting": {"instance_type": "ml.g6.2xlarge", "inference_ami_version": GPU_3}}
    assert resolve(deployment(hosting)).inference_ami_version == GPU_3


@pytest.mark.parametrize(
    ("serving", "cuda"),
    [
        ({"version": "0.36.0-lmi28"}, 13),
        ({"version": "0.36.0-lmi24"}, 12),
        ({"image_uri": f"{OWN_IMAGE}-cu118-py310"}, 11),
        ({"image_uri": OWN_IMAGE}, None),
        ({"image_uri": f"{OWN_REGISTRY}/llama-cpp:server-sagemaker-cpu-v1.0.1"}, None),
        ({"engine": "huggingface", "version": CPU_VERSION}, None),
    ],
)
def test_cuda_is_the_catalogs_or_in_the_name_of_the_image(serving: dict[str, Any], cuda: int | None) -> None:
    assert container_cuda(built(**serving)) == cuda


def test_people_are_told_what_bills_all_night() -> None:
    said = lines({})
    assert "cost      1 x ml.g6.2xlarge bills every hour until the stack is destroyed, about 1.22 USD an hour" in said
    assert "the count never reaches zero" in said


def test_people_are_told_what_an_endpoint_costs_that_goes_to_zero() -> None:
    said = lines({"hosting": ASYNC})
    assert "0 to 2 x ml.g6.2xlarge" in said
    assert "1 x ml.g6.2xlarge bills while jobs run" in said
    assert "to zero when idle" in said


def test_people_are_told_what_it_runs_on() -> None:
    assert f"instance  1 x ml.g6.2xlarge (1 x NVIDIA L4, 22 GiB each), host image {GPU_4}" in lines({})
    cpu = {"serving": {"engine": "huggingface", "version": CPU_VERSION}, "hosting": {"instance_type": "ml.m7i.xlarge"}}
    assert "1 x ml.m7i.xlarge (4 vCPU, 16 GiB), host image by default" in lines(cpu)
    pool: Changes = {"hosting": {"instance_type": ["ml.g6.2xlarge", "ml.g5.2xlarge"]}}
    assert f"host image {GPU_4}, else ml.g5.2xlarge" in lines(pool)


def test_people_are_told_where_the_image_comes_from() -> None:
    assert "djl-inference:0.36.0-lmi28.0.0-cu130 from the image account of the region" in lines({})
    own = lines({"serving": {"image_uri": OWN_IMAGE}})
    assert "on lmi-vllm of an own image" in own
    assert f"image     {OWN_IMAGE}\n" in own


def test_a_real_time_call_has_sagemakers_own_limit_whatever_the_file_says() -> None:
    jobs = {"jobs": {"invocation_timeout_in_seconds": 900}}
    assert invocation_timeout_in_seconds(deployment(jobs)) == 60
    assert invocation_timeout_in_seconds(deployment({**jobs, "hosting": ASYNC})) == 900
