"""The images that a deployment takes, what its engine is told of them, and the memory for them."""

from typing import Any

import pytest

from llm_hosting.deployment.model import Deployment
from llm_hosting.resolution import Resolution, resolve
from llm_hosting.resolution.images import image_rules, takes_images

VISION = "Qwen/Qwen3-VL-4B-Instruct"


def resolution(model: str, api: dict[str, Any] | None = None, **serving: Any) -> Resolution:
    document = {"model": {"id": model}, "serving": serving, "hosting": {"instance_type": "ml.g6.2xlarge"}}
    return resolve(Deployment.model_validate(document | {"api": api or {}}))


@pytest.mark.parametrize(
    ("model", "serving", "takes"),
    [
        (VISION, {}, True),
        (VISION, {"images_per_prompt": 0}, False),
        ("Qwen/Qwen3-4B", {}, False),
        ("org/unknown", {}, None),
        (VISION, {"engine": "huggingface"}, False),
    ],
)
def test_a_deployment_takes_images_if_model_and_engine_do(model: str, serving: Any, takes: bool | None) -> None:
    assert takes_images(resolution(model, **serving).container) is takes


@pytest.mark.parametrize(("engine", "prefix"), [("vllm", "SM_VLLM_"), ("lmi-vllm", "OPTION_")])
def test_vllm_is_held_to_the_number_and_to_one_host(engine: str, prefix: str) -> None:
    found = resolution(VISION, {"fetch_urls": ["a.example.com"]}, engine=engine, images_per_prompt=3).environment
    assert found[f"{prefix}LIMIT_MM_PER_PROMPT"] == '{"image": 3, "video": 0}'
    assert found[f"{prefix}ALLOWED_MEDIA_DOMAINS"] == "a.example.com"
    assert found["VLLM_MEDIA_URL_ALLOW_REDIRECTS"] == "0"


@pytest.mark.parametrize(
    ("version", "limit"),
    [
        ("0.29.0-lmi11", None),
        ("0.30.0-lmi12", "image=3,video=0"),
        ("0.33.0-lmi15", "image=3,video=0"),
        ("0.34.0-lmi16", '{"image": 3, "video": 0}'),
    ],
)
def test_an_older_lmi_reads_the_number_in_its_own_form(version: str, limit: str | None) -> None:
    found = resolution("llava-hf/llava-1.5-7b-hf", engine="lmi-vllm", version=version, images_per_prompt=3)
    assert found.environment.get("OPTION_LIMIT_MM_PER_PROMPT") == limit


def test_the_functions_get_the_law_of_tokens() -> None:
    found = image_rules(resolution(VISION, max_model_len=20000).container)
    assert found == {
        "law": {"law": "scaled", "patch": 32, "least_pixels": 65536, "most_pixels": 16777216},
        "context": 20000,
    }


def test_the_vision_part_needs_memory_unless_it_is_off() -> None:
    on, off = (resolution(VISION, images_per_prompt=most).placements[0].memory for most in (1, 0))
    assert on
    assert off
    vectors, activations, step = 16384 * 4 * 2560 * 2, 16384 * 4 * 1024 * 28, 2048 * 2560 * 40 + 151936 * 2048
    assert on.overhead - off.overhead == vectors + activations - step
