"""The layer of the authorizer of tokens: what is in it, and what happens without an installer or a package index."""

import re
from pathlib import Path
from zipfile import ZipFile

import pytest

from llm_hosting import package_installer
from llm_hosting.api.layer import archive
from llm_hosting.api.layer.archive import REQUIREMENTS, layer_archive, layer_hash
from llm_hosting.archive import ArchiveError
from support.repository import ROOT

_PINNED = re.compile(r"^([a-z0-9-]+)==(\S+)", re.MULTILINE)


@pytest.fixture
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "slipway"


@pytest.fixture
def no_index(empty_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(package_installer, "_is_installed_by_uv", lambda: True)
    settings = {"UV_OFFLINE": "1", "UV_NO_CONFIG": "1", "UV_CACHE_DIR": str(tmp_path / "wheels")}
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    return empty_cache


@pytest.mark.parametrize(("architecture", "machine"), [("arm64", "aarch64"), ("x86_64", "x86_64")])
@pytest.mark.parametrize("uv", [True, False], ids=["uv", "pip"])
@pytest.mark.slow
def test_the_layer_has_binaries_for_lambda_s_python_and_processor(
    empty_cache: Path, monkeypatch: pytest.MonkeyPatch, architecture: str, machine: str, uv: bool
) -> None:
    monkeypatch.setattr(package_installer, "_is_installed_by_uv", lambda: uv)
    names = ZipFile(layer_archive(architecture)).namelist()
    assert {"python/jwt/__init__.py", "python/cryptography/hazmat/bindings/_rust.abi3.so"} <= {*names}
    assert f"python/_cffi_backend.cpython-314-{machine}-linux-gnu.so" in names
    assert not [name for name in names if name.startswith("python/bin/") or name.endswith(".pyc")]


def test_the_local_cloud_has_the_same_versions() -> None:
    local = dict(_PINNED.findall((ROOT / "local_cloud" / "requirements.txt").read_text()))
    layer = dict(_PINNED.findall(REQUIREMENTS.read_text()))
    assert {"pyjwt", "cryptography", "cffi"} <= layer.keys()
    assert {name: local.get(name) for name in layer} == layer


def test_every_wheel_is_pinned_by_hash() -> None:
    assert all("--hash=sha256:" in part for part in _PINNED.split(REQUIREMENTS.read_text())[3::3])


def test_each_processor_has_a_layer_of_its_own() -> None:
    assert layer_hash("arm64") != layer_hash("x86_64")


def test_without_the_packages_one_sentence_tells_why_and_nothing_half_made_stays(no_index: Path) -> None:
    with pytest.raises(ArchiveError, match=r"can't be installed: .*; run this again where your package index") as error:
        layer_archive("arm64")
    assert "\n" not in str(error.value)
    assert [path.name for path in no_index.iterdir()] == ["layer.lock"]


def test_without_an_installer_one_sentence_names_two(empty_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(package_installer, "find_spec", lambda _: None)
    monkeypatch.setattr("shutil.which", lambda *_, **__: None)
    with pytest.raises(ArchiveError, match="needs uv or pip"):
        archive.layer_archive("arm64")


def test_a_folder_that_can_t_be_written_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    with pytest.raises(ArchiveError, match=r"can't be put into .*; make that folder writable, or name another by XDG"):
        layer_archive("arm64")
