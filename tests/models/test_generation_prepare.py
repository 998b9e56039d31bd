"""`python -m generation.prepare` downloads a model once and tries it, or ends with one clear line."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from support.generation_servers import variables
from support.stand_ins.hub_server import HubServer


def prepare(home: Path, **more: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-P", "-m", "generation.prepare"]
    return subprocess.run(command, env=variables(home, **more), capture_output=True, text=True, check=False)


def test_a_model_of_the_hub_is_downloaded_once_and_answers(weights: Path, tmp_path: Path) -> None:
    files = {path.name: path.read_bytes() for path in weights.iterdir()}
    hub = HubServer("own/tiny", files | {"pytorch_model.bin": b"the same weights again", "onnx/model.onnx": b"again"})
    with hub:
        settings = {"MODEL_ID": "own/tiny", "MODEL_REVISION": hub.main, "HF_ENDPOINT": hub.url, "NO_PROXY": "127.0.0.1"}
        first = prepare(tmp_path, **settings)
        assert (first.returncode, first.stderr) == (0, "")
        assert "downloaded in " in first.stdout
        assert "answered in " in first.stdout
        asked = len(hub.requests)
        assert prepare(tmp_path, **settings).returncode == 0
        assert len(hub.requests) == asked
        assert (hub.downloads("model.safetensors"), hub.downloads("pytorch_model.bin")) == (1, 0)
    assert {path.name for path in (tmp_path / "model").iterdir()} == files.keys() | {".source"}


def test_a_folder_of_this_machine_is_linked(weights: Path, tmp_path: Path) -> None:
    done = prepare(tmp_path, MODEL_WEIGHTS=str(weights))
    assert (done.returncode, (tmp_path / "model").resolve()) == (0, weights.resolve())


@pytest.mark.parametrize(("kept", "reason"), [([], "config.json"), (["config.json", "tokenizer.json"], "safetensors")])
def test_a_folder_that_is_not_a_model_ends_with_one_line(
    weights: Path, tmp_path: Path, kept: list[str], reason: str
) -> None:
    folder, home = tmp_path / "folder", tmp_path / "home"
    folder.mkdir()
    home.mkdir()
    for name in kept:
        shutil.copy(weights / name, folder)
    failed = prepare(home, MODEL_WEIGHTS=str(folder))
    line = failed.stderr.splitlines()[-1]
    assert failed.returncode == 1
    assert line.startswith("The model tiny can't be prepared: ")
    assert reason in line
    assert "Traceback" not in failed.stderr
