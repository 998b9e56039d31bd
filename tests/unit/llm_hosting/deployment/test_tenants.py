"""Which deployments stand on a shared endpoint."""

from pathlib import Path

import pytest

from llm_hosting.deployment.tenants import tenants
from support.deployments.shared_project import on_gpus, write_project

ALONE = {"model": {"id": "Qwen/Qwen3-0.6B"}, "hosting": {"instance_type": "ml.g6.xlarge"}}
PROD = {"extends": "chat"}


def found(folder: Path, beside: str | None = None) -> list[str]:
    deployments = folder / "deployments"
    return sorted(tenants("gpus", deployments, beside=deployments / f"{beside}.yaml" if beside else None))


def test_all_deployments_that_name_it_stand_on_it(tmp_path: Path) -> None:
    project = write_project(tmp_path, {"chat": on_gpus(), "code": on_gpus(), "alone": ALONE})
    assert found(project) == ["chat", "code"]
    assert found(project, beside="chat") == ["code"]


@pytest.mark.parametrize(
    ("beside", "expected"),
    [(None, ["chat", "code"]), ("code", ["chat"]), ("code/prod", ["chat-prod"]), ("chat/prod", ["code-prod"])],
)
def test_a_base_and_its_overlays_count_once(tmp_path: Path, beside: str | None, expected: list[str]) -> None:
    content = {"chat": on_gpus(), "chat/prod": PROD, "code": on_gpus(), "code/prod": {"extends": "code"}}
    assert found(write_project(tmp_path, content), beside) == expected


def test_an_overlay_alone_may_stand_on_it(tmp_path: Path) -> None:
    there = {"extends": "chat", "hosting": {"endpoint": "shared/gpus", "instance_type": None}}
    assert found(write_project(tmp_path, {"chat": ALONE, "chat/prod": there})) == ["chat-prod"]
