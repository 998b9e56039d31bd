"""A Hub on loopback with one model, and a deployment of it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.stand_ins.hub_models import MODEL, files
from support.stand_ins.hub_server import HubServer


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[HubServer]:
    with HubServer(MODEL, files()) as server:
        monkeypatch.setenv("HF_ENDPOINT", server.url)
        monkeypatch.delenv("HF_TOKEN", raising=False)
        yield server


@pytest.fixture
def deployment(tmp_path: Path) -> Path:
    path = tmp_path / "tuned.yaml"
    model = f"model: {{id: {MODEL}}}"
    path.write_text(f"{model}\nserving: {{max_model_len: 2048}}\nhosting: {{instance_type: ml.g6.2xlarge}}\n")
    return path
