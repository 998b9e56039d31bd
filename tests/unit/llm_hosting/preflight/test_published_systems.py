"""Published systems pass as they were shipped; their known mistakes are refused with the reason."""

from pathlib import Path
from typing import Any

import pytest

from llm_hosting.deployment.model import Deployment
from llm_hosting.preflight.validation import load, validate
from llm_hosting.resolution import resolve
from llm_hosting.sources import handler_names
from support.deployments.known_deployments import SHIPPED_FILES

ROOT = Path(__file__).parents[4]

AS_PUBLISHED: dict[str, tuple[dict[str, Any], str, str]] = {
    "flan-t5-xxl: no code on an image without the handler": (
        {
            "model": {"id": "google/flan-t5-xxl"},
            "serving": {"engine": "lmi-fastertransformer", "version": "0.21.0", "tensor_parallel_degree": 4},
            "hosting": {"instance_type": "ml.g5.12xlarge"},
        },
        "handler-fits-version",
        "use a newer version",
    ),
    "flan-t5-xxl: option.s3url on an image of today": (
        {
            "model": {"id": "google/flan-t5-xxl"},
            "serving": {
                "engine": "lmi-huggingface",
                "version": "0.36.0-lmi28",
                "environment": {"OPTION_S3URL": "s3://weights/flant5-xxl/"},
            },
            "hosting": {"instance_type": "ml.g5.12xlarge"},
        },
        "option-fits-version",
        "set model.weights instead",
    ),
    "gpt4all-j: the handler's name with a hyphen, on an image that spells it otherwise": (
        {
            "model": {"id": "nomic-ai/gpt4all-j"},
            "serving": {
                "engine": "lmi-neuronx",
                "version": "0.24.0",
                "environment": {"OPTION_ENTRYPOINT": "djl_python.transformers-neuronx"},
            },
            "hosting": {"instance_type": "ml.inf2.8xlarge"},
        },
        "handler-fits-version",
        "djl_python.transformers_neuronx",
    ),
    "bloom-176b: a volume beside 8 TB of NVMe": (
        {
            "model": {"id": "microsoft/bloom-deepspeed-inference-int8", "dtype": "int8"},
            "serving": {"engine": "lmi-deepspeed", "version": "0.21.0"},
            "hosting": {"instance_type": "ml.p4d.24xlarge", "volume_size_in_gb": 400},
        },
        "no-volume-beside-nvme",
        "remove the setting",
    ),
    "bloom-176b on Accelerate: an answer longer than a real-time endpoint may take": (
        {
            "model": {"id": "bigscience/bloom", "quantization": "bitsandbytes8"},
            "serving": {"engine": "lmi-huggingface", "version": "0.20.0", "max_new_tokens": 256},
            "hosting": {"instance_type": "ml.p4d.24xlarge", "startup_timeout_in_seconds": 3600},
        },
        "answer-fits-endpoint",
        "hosting.mode: async",
    ),
}


@pytest.mark.parametrize("name", AS_PUBLISHED)
def test_the_mistakes_of_publications_are_refused(name: str) -> None:
    content, rule, words = AS_PUBLISHED[name]
    errors = {
        each.rule: each.message
        for each in validate(resolve(Deployment.model_validate(content)))
        if each.level == "error"
    }
    assert words in errors[rule]


def test_an_answer_of_bloom_is_sent_to_jobs() -> None:
    """BLOOM takes 32 s at p99, but the gateway gives up after 29 s."""
    _, findings = load(ROOT / "deployments/bloom-176b.yaml", handler_names(ROOT))
    (finding,) = (each for each in findings if each.rule == "answer-fits-route")
    assert "32 s" in finding.message
    assert "POST /jobs" in finding.message


@pytest.mark.parametrize("path", SHIPPED_FILES.values(), ids=SHIPPED_FILES)
def test_a_shipped_deployment_passes(path: Path) -> None:
    _, findings = load(path, handler_names(ROOT))
    expected = {"answer-fits-route"}
    assert {each.rule for each in findings if each.level in ("warning", "unknown")} <= expected
