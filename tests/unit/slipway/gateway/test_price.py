"""The price of a token: measured, else estimated."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from llm_hosting.preflight.validation import load
from slipway.gateway.price import price_of, price_of_stack
from support.deployments.known_deployments import DEPLOYMENTS

MODEL = "Qwen/Qwen3-4B"
MEASURED: dict[str, Any] = {
    "instance_type": "ml.g6.2xlarge",
    "degree": 1,
    "model": MODEL,
    "commit": None,
    "engine": "lmi-vllm",
    "version": "0.36.0-lmi28",
    "context": 8192,
    "route": "chat",
    "batch": 1,
    "prompts": "synthetic",
    "prompt_tokens": 300,
    "answer_tokens": 100,
    "measured_at": "2026-11-20T10:00:00+00:00",
    "region": "us-east-1",
    "usd_per_hour": 3.6,
    "load_in_seconds": None,
    "slo": None,
    "highest_rate": None,
    "levels": [
        {
            "clients": clients,
            "rate": None,
            "tokens_per_second": rate,
            "p50_in_seconds": 1.0,
            "p90_in_seconds": 1.0,
            "failed_share": 0.0,
        }
        for clients, rate in ((1, 50.0), (16, 500.0))
    ],
}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "deployments").mkdir()
    for path in DEPLOYMENTS.glob("qwen3-4b.*"):
        shutil.copy(path, tmp_path / "deployments")
    (tmp_path / "deployments" / "qwen3-4b.measured.json").unlink(missing_ok=True)
    return tmp_path


def keep(project: Path, **changes: Any) -> None:
    (project / "deployments" / "qwen3-4b.measured.json").write_text(json.dumps([MEASURED | changes]))


def test_measured_tokens_of_prompts_and_answers_bear_the_same_at_the_highest_rate(project: Path) -> None:
    keep(project)
    price = price_of_stack("qwen3-4b", MODEL, project)
    assert price
    assert price.per_input_token == price.per_output_token == pytest.approx(3.6 / 3600 / 2000)
    assert price.basis.startswith("measured 2026-11-20")


def test_answers_bear_all_if_the_length_of_prompts_is_not_known(project: Path) -> None:
    keep(project, prompt_tokens=None)
    price = price_of_stack("qwen3-4b", MODEL, project)
    assert price
    assert price.per_input_token == 0
    assert price.per_output_token == pytest.approx(3.6 / 3600 / 500)


def test_texts_bear_all_of_vectors(project: Path) -> None:
    keep(project, route="embeddings", batch=8, answer_tokens=0)
    price = price_of_stack("qwen3-4b", MODEL, project)
    assert price
    assert price.per_output_token == 0
    assert price.per_input_token == pytest.approx(3.6 / 3600 / (16 * 8 * 300), rel=0.01)


def test_figures_of_another_type_are_not_used(project: Path) -> None:
    keep(project, instance_type="ml.g6.12xlarge")
    price = price_of_stack("qwen3-4b", MODEL, project)
    assert price
    assert price.basis.startswith("estimated")


def test_without_figures_the_price_is_estimated() -> None:
    resolution, _ = load(DEPLOYMENTS / "qwen3-4b.yaml", ())
    price = price_of(DEPLOYMENTS / "qwen3-4b.yaml", resolution)
    assert price
    assert 1e-08 < price.per_output_token < 1e-05
    assert price.per_input_token == 0


@pytest.mark.parametrize(("stack", "model"), [("another", MODEL), ("qwen3-4b", "a/model")])
def test_a_stack_that_the_projects_files_do_not_describe_has_no_price(project: Path, stack: str, model: str) -> None:
    assert price_of_stack(stack, model, project) is None
