"""Estimated rates, against rates that others measured."""

import pytest

from llm_hosting.resolution.estimates import token_rate
from support.deployments.good_one import resolved

CONTEXT = 2048


def estimated(model: str, instance_type: str, degree: int, requests: int) -> float:
    """Tokens a second of one copy, with so many requests at once."""
    serving = {"engine": "vllm", "tensor_parallel_degree": degree, "max_model_len": CONTEXT}
    (placement,) = resolved(
        {"model": {"id": model}, "serving": serving, "hosting": {"instance_type": instance_type}}
    ).placements
    rate = token_rate(placement, requests * placement.copies, CONTEXT)
    assert rate is not None
    assert not rate.is_measured
    return rate.tokens_per_second / placement.copies


@pytest.mark.parametrize(
    ("model", "instance_type", "degree", "requests", "seconds_per_step"),
    [
        ("Qwen/Qwen3-1.7B", "ml.p4de.24xlarge", 1, 1, 0.0046),  # tt-inference-server#340
        ("Qwen/Qwen3-30B-A3B", "ml.p4de.24xlarge", 1, 1, 0.0096),
        ("openai/gpt-oss-120b", "ml.p5.48xlarge", 8, 4, 0.00372),  # InferenceX#828
        ("openai/gpt-oss-120b", "ml.p5.48xlarge", 8, 16, 0.00483),
        ("openai/gpt-oss-120b", "ml.p5.48xlarge", 8, 64, 0.00736),
        ("openai/gpt-oss-20b", "ml.p5.4xlarge", 1, 32, 0.0079),  # achatbot#183
    ],
)
def test_an_estimate_is_near_the_published_rate(
    model: str, instance_type: str, degree: int, requests: int, seconds_per_step: float
) -> None:
    share = estimated(model, instance_type, degree, requests) * seconds_per_step / requests
    assert 1 / 1.25 < share < 1.25


def test_a_mixture_reads_no_more_than_all_its_weights() -> None:
    few, many = (estimated("openai/gpt-oss-120b", "ml.p5.48xlarge", 8, requests) for requests in (256, 512))
    assert many > 1.5 * few, "the step reads the same weights for twice the requests"


def test_requests_share_the_experts_that_a_step_reads() -> None:
    one, four = (estimated("Qwen/Qwen3-30B-A3B", "ml.g6e.12xlarge", 4, requests) for requests in (1, 4))
    assert one < four < 4 * one
