"""The project that `slipway init` writes: its template, and its own test of it."""

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from slipway.changes.template.synthesis import synthesize
from slipway.project.contents import contents
from slipway.project.init import write_missing
from support.repository import ROOT


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A new project without a file of this repository near."""
    folder = tmp_path_factory.mktemp("chat")
    write_missing(folder, contents())
    return folder


@pytest.fixture
def chat(project: Path) -> Iterator[Path]:
    """The deployment's file, which is as it was after the test."""
    file = project / "deployments" / "chat.yaml"
    text = file.read_text()
    yield file
    file.write_text(text)


def ran(project: Path, module: str, *arguments: str) -> tuple[int, str]:
    command = [sys.executable, "-m", module, *arguments]
    done = subprocess.run(command, cwd=project, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def test_its_template_is_that_of_the_same_deployment_here(project: Path, tmp_path: Path) -> None:
    ours = shutil.copy(ROOT / "deployments" / "qwen3-4b.yaml", tmp_path / "chat.yaml")
    assert synthesize("chat", project).template == synthesize(str(ours), ROOT).template


def test_its_own_test_asks_for_a_snapshot_then_passes_then_tells_what_an_edit_means(project: Path, chat: Path) -> None:
    status, said = ran(project, "pytest")
    assert status == 1
    assert "/tests/snapshots/chat.json: run `slipway snapshot chat`, and commit" in said

    status, said = ran(project, "slipway", "snapshot")
    assert status == 0
    assert re.search(r"chat: wrote tests/snapshots/chat\.json, the accepted template: \d+ resources\.\n", said)
    assert ran(project, "pytest")[0] == 0

    chat.write_text(chat.read_text().replace("ml.g6.2xlarge", "ml.g5.2xlarge"))
    status, said = ran(project, "pytest")
    assert status == 1
    assert "1 ml.g5.2xlarge beside 1 ml.g6.2xlarge" in said
    assert "If this is intended, run `slipway snapshot chat`" in said
    assert "def assert_" not in said  # the message alone, without a traceback into the library

    flags = project / "cdk.json"
    tested = flags.read_text()
    flags.write_text(tested.replace('minimizePolicies": true', 'minimizePolicies": false'))
    status, said = ran(project, "slipway", "snapshot")
    flags.write_text(tested)
    assert status == 0
    assert "1 ml.g5.2xlarge beside 1 ml.g6.2xlarge" in said
    assert said.count("warning: The feature flag @aws-cdk/aws-iam:minimizePolicies is false, but ") == 1


def test_its_own_test_tells_every_problem_of_a_refused_deployment(project: Path, chat: Path) -> None:
    chat.write_text(chat.read_text().replace("lmi-vllm", "vlm").replace("max_model_len", "max_len"))
    (project / "tests" / "snapshots").mkdir(exist_ok=True)
    (project / "tests" / "snapshots" / "chat.json").write_text('{"Resources": {}}')

    status, said = ran(project, "pytest")

    assert status == 1
    assert "AssertionError: chat can't be synthesized:\n" in said
    assert "serving.engine" in said
    assert "serving.max_len" in said
    assert "NoTemplateError" not in said
