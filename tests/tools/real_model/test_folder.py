"""The folder of a real model: what can be used, and the sentence about each that can't."""

import re
import sys
from pathlib import Path

import pytest

from local_cloud.interpreters import environments
from local_cloud.real_model import folder as finding
from local_cloud.real_model.error import RealModelError


@pytest.fixture
def model(tmp_path: Path) -> Path:
    (tmp_path / "config.json").write_text("{}")
    (tmp_path / "model.safetensors").write_bytes(b"weights")
    return tmp_path


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The program that downloads from the Hub, without torch's Python: the test writes it."""
    script = tmp_path / "download.py"
    monkeypatch.setattr(finding, "_DOWNLOAD", script)
    monkeypatch.setattr(environments, "HOME", tmp_path)
    (python := tmp_path / ".venv-models/bin/python").parent.mkdir(parents=True)
    python.symlink_to(sys.executable)
    return script


def test_a_folder_is_used_as_it_is(model: Path) -> None:
    assert finding.folder_of(str(model)) == model


def test_the_folder_of_a_model_of_the_hub_is_that_of_the_download(hub: Path, model: Path) -> None:
    hub.write_text(f"import sys; assert sys.argv[1] == 'owner/name'; print({str(model)!r})")
    assert finding.folder_of("owner/name") == model


@pytest.mark.parametrize(
    ("missing", "said"),
    [
        ("config.json", "holds no Hugging Face model (config.json is missing); name its folder."),
        ("model.safetensors", "holds no weights as *.safetensors or *.bin; name a model that does."),
    ],
)
def test_a_folder_without_a_model_is_refused(model: Path, missing: str, said: str) -> None:
    (model / missing).unlink()
    with pytest.raises(RealModelError, match=f"^--real: {re.escape(str(model))} {re.escape(said)}$"):
        finding.folder_of(str(model))


def test_weights_that_exceed_the_memory_are_refused(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    memory = model / "meminfo"
    memory.write_text("MemTotal: 9 kB\nMemAvailable: 2000000 kB\n")
    monkeypatch.setattr(finding, "_MEMORY", memory)
    with (model / "model.safetensors").open("wb") as weights:
        weights.truncate(3_000_000_000)
    with pytest.raises(RealModelError, match=r"\(3\.0 GB\) exceed this machine's free memory \(2\.0 GB\); name a smal"):
        finding.folder_of(str(model))


def test_a_name_that_is_neither_a_folder_nor_an_id_is_refused() -> None:
    with pytest.raises(RealModelError, match=r"^--real: \./nowhere is neither a folder nor a model's id on the Hub"):
        finding.folder_of("./nowhere")


@pytest.mark.parametrize(
    ("reason", "fix"),
    [
        ("it is not in the Hub's cache, and the Hub can't be reached", r"name a folder .*\(--real PATH\), or connect"),
        ("the Hub answers 401", "mend the name, or set HF_TOKEN if the model is gated"),
    ],
)
def test_a_failed_download_names_its_reason_and_the_fix(hub: Path, reason: str, fix: str) -> None:
    hub.write_text(f"import sys; sys.exit({reason!r})")
    with pytest.raises(RealModelError, match=f"^--real: owner/name can't be downloaded, as {reason}; {fix}"):
        finding.folder_of("owner/name")
