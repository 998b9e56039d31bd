"""The facts of adapters in a lock, and what the rules make of them."""

import json
from pathlib import Path
from typing import Any

import pytest

from llm_hosting.preflight.validation import validate_file
from slipway.locking import lock
from support.stand_ins.adapters import adapter_files
from support.stand_ins.hub_models import MODEL, files, safetensors
from support.stand_ins.hub_server import HubServer

# The base has the modules of the adapter, and its hidden size.
BASE = {
    "model-00001-of-00002.safetensors": safetensors(
        {
            "model.layers.0.self_attn.q_proj.weight": ("F16", [256, 256], 131_072),
            "model.layers.0.self_attn.v_proj.qweight": ("I32", [64, 256], 65_536),
            "model.norm.weight": ("F16", [256], 512),
        }
    )
}


@pytest.fixture
def adapted(hub: HubServer, deployment: Path) -> Path:
    """The deployment with an adapter; one repository holds the model and the adapter's files."""
    hub.push(files() | BASE | adapter_files({"base_model_name_or_path": MODEL}, rank=24, hidden=256))
    text = deployment.read_text().replace(f"{{id: {MODEL}}}", f"{{id: {MODEL}, adapters: {{legal: {MODEL}}}}}")
    deployment.write_text(text)
    return deployment


def locked(path: Path) -> dict[str, Any]:
    assert lock.run(str(path), path.parent) == 0
    content: dict[str, Any] = json.loads(path.with_suffix(".lock.json").read_text())
    return content


def test_a_lock_holds_the_facts_of_each_adapter(hub: HubServer, adapted: Path) -> None:
    content = locked(adapted)
    assert content["modules"] == ["b", "q_proj", "v_proj"]
    legal = content["adapters"]["legal"]
    assert (legal["source"], legal["commit"], legal["base"], legal["rank"]) == (MODEL, hub.main, MODEL, 24)
    assert set(legal["files"]) == {"adapter_config.json", "adapter_model.safetensors"}


def test_the_rank_of_the_lock_becomes_a_variable(hub: HubServer, adapted: Path) -> None:
    locked(adapted)
    adapted.write_text(adapted.read_text().replace("serving: {", "serving: {engine: vllm, "))
    validation = validate_file(adapted, [])
    assert not validation.errors
    assert validation.resolution
    environment = validation.resolution.environment
    assert (environment["SM_VLLM_MAX_LORA_RANK"], environment["SM_VLLM_LORA_MODULES"]) == ("32", f"legal={MODEL}")


def test_a_lock_of_another_source_is_an_error(hub: HubServer, adapted: Path) -> None:
    locked(adapted)
    adapted.write_text(adapted.read_text().replace(f"legal: {MODEL}", "legal: s3://bucket/legal/"))
    (finding,) = validate_file(adapted, []).errors
    assert (finding.field, "tuned.lock.json is of my-org/tuned-gptq" in finding.message) == (
        "model.adapters.legal",
        True,
    )


def test_a_broken_adapter_is_not_locked(hub: HubServer, adapted: Path, capsys: pytest.CaptureFixture[str]) -> None:
    hub.push(files() | adapter_files({"r": "high"}))
    assert lock.run(str(adapted), adapted.parent) == 2
    assert "r, the rank, is 'high', which must be a positive whole number" in capsys.readouterr().err
