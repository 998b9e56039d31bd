"""The process of a real model, with a program of the test in place of the one that needs torch."""

import sys
from pathlib import Path

import pytest

from local_cloud.interpreters import environments
from local_cloud.real_model import process
from local_cloud.real_model.error import RealModelError


@pytest.mark.parametrize(
    ("program", "reason"),
    [
        ("sys.exit('warned\\nits tokenizer is missing')", "its tokenizer is missing"),
        ("os.kill(os.getpid(), 9)", "its process was killed by signal 9, most likely for lack of memory"),
        ("os._exit(3)", "exit status 3"),
    ],
)
def test_a_model_that_cannot_be_loaded_is_one_sentence(
    program: str, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "worker.py").write_text(f"import os, sys\n{program}\n")
    monkeypatch.setattr(process, "_WORKER", tmp_path / "worker.py")
    monkeypatch.setattr(process, "folder_of", lambda model: tmp_path)
    monkeypatch.setattr(environments, "HOME", tmp_path)
    (python := tmp_path / ".venv-models/bin/python").parent.mkdir(parents=True)
    python.symlink_to(sys.executable)
    with process.RealModel("mine") as model, pytest.raises(RealModelError) as found:
        model.wait_until_ready()
    assert str(found.value) == f"--real: mine can't be loaded: {reason}; name another model."
