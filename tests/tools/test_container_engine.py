"""Which engine the local cloud takes an image for."""

import pytest

from llm_hosting.catalog.engines import ENGINES, engine
from local_cloud.emulator.container_engine import UNKNOWN, ContainerEngine, engine_of

# The engines of the catalog, by the name that the model server has for what runs in their images.
SERVERS = {
    "lmi-vllm": {"djl-lmi", "djl-deepspeed"},
    "lmi-deepspeed": {"djl-deepspeed"},
    "lmi-fastertransformer": {"djl-fastertransformer"},
    "lmi-neuronx": {"djl-neuronx"},
    "lmi-huggingface": {"djl-deepspeed", "djl-lmi"},
    "lmi-tensorrt-llm": {"djl-tensorrtllm"},
    "tgi": {"tgi"},
    "tgi-neuronx": {"tgi-neuronx"},
    "vllm": {"vllm", "huggingface-vllm"},
    "sglang": {"sglang"},
    "llama-cpp": {"llama-cpp"},
    "huggingface": {"huggingface"},
}


def uri(image: str) -> str:
    return f"763104351884.dkr.ecr.us-west-2.amazonaws.com/{image}"


@pytest.mark.parametrize(
    ("image", "name", "version"),
    [
        ("djl-inference:0.19.0-deepspeed0.7.3-cu113", "djl-deepspeed", "0.19.0"),
        ("djl-inference:0.21.0-fastertransformer5.3.0-cu117", "djl-fastertransformer", "0.21.0"),
        ("djl-inference:0.22.1-neuronx-sdk2.10.0", "djl-neuronx", "0.22.1"),
        ("djl-inference:0.33.0-tensorrtllm0.21.0-cu128", "djl-tensorrtllm", "0.33.0"),
        ("djl-inference:0.36.0-lmi28.0.0-cu130", "djl-lmi", "0.36.0"),
        ("djl-inference:0.36.0-cpu-full", "djl-cpu-full", "0.36.0"),
        ("huggingface-pytorch-tgi-inference:2.1.1-tgi1.4.0-gpu-py310-cu121-ubuntu20.04", "tgi", "1.4.0"),
        ("huggingface-pytorch-tgi-inference:1.13.1-optimum0.0.28-neuronx-py310-ubuntu22.04", "tgi-neuronx", "0.0.28"),
        ("huggingface-pytorch-inference:2.6.0-transformers4.51.3-cpu-py312-ubuntu22.04", "huggingface", "4.51.3"),
        ("vllm:0.30.0-gpu-py312-cu130-ubuntu24.04-sagemaker", "vllm", "0.30.0"),
        ("vllm:server-sagemaker-cuda-v2.6", "vllm", ""),
        ("huggingface-vllm:0.21.0-transformers5.8.1-gpu-py312-cu130-ubuntu22.04", "huggingface-vllm", "0.21.0"),
        ("sglang:0.5.20-gpu-py312-cu130-ubuntu24.04-sagemaker", "sglang", "0.5.20"),
        ("huggingface-sglang:0.5.8-transformers4.57.3-gpu-py312-cu129-ubuntu24.04", "sglang", "0.5.8"),
        ("llama-cpp-arm64:server-sagemaker-cpu-v1.0.1", "llama-cpp", "1.0.1"),
        ("llama-cpp:server-sagemaker-cpu-v1", "llama-cpp", ""),
        ("huggingface-llamacpp:b9522-cpu", "llama-cpp", ""),
    ],
)
def test_repository_and_tag_say_which_engine_it_is(image: str, name: str, version: str) -> None:
    assert engine_of(uri(image)) == ContainerEngine(name, version)


@pytest.mark.parametrize("image", ["my-model:1.0", "team/vllm:0.30.0-gpu", "djl-inference@sha256:00ff", "vllm-fork:1"])
def test_an_image_that_nobody_knows_keeps_its_default(image: str) -> None:
    assert engine_of(uri(image)) == UNKNOWN


@pytest.mark.parametrize("name", [name for name in ENGINES if name != "custom"])
def test_every_image_of_the_catalog_has_its_stand_in(name: str) -> None:
    versions = engine(name).versions.values()
    found = {engine_of(uri(f"{version.repository}:{version.tag}")).name for version in versions}
    assert found == SERVERS[name]
