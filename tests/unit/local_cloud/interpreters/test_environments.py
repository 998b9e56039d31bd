"""Environments in a user's cache: made once, whole or not at all, and with nothing but their own packages."""

import hashlib
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path
from zipfile import ZipFile

import pytest

from llm_hosting import package_installer
from local_cloud.interpreters import environments
from local_cloud.interpreters.environments import Environment, EnvironmentUnavailableError


@pytest.fixture
def installer(request: pytest.FixtureRequest) -> str:
    return getattr(request, "param", "uv")


with_each_installer = pytest.mark.parametrize("installer", ["uv", "pip", "the guest"], indirect=True)


@pytest.fixture
def index(installer: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the package `tiny`, which is the package index of an installer, and a cache of one's own."""
    folder = tmp_path / "index"
    folder.mkdir()
    write_wheel(folder, "tiny")
    for name in ("UV", "PIP"):
        monkeypatch.setenv(f"{name}_NO_INDEX", "1")
        monkeypatch.setenv(f"{name}_FIND_LINKS", str(folder))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(environments, "IS_CHECKOUT", False)
    monkeypatch.setattr(package_installer, "_is_installed_by_uv", lambda: installer == "uv")
    if installer == "the guest":
        monkeypatch.setattr(package_installer, "find_spec", lambda name: None if name == "pip" else find_spec(name))
        monkeypatch.setattr("shutil.which", lambda *_, **__: None)
    return folder


def write_wheel(folder: Path, name: str) -> Path:
    path = folder / f"{name}-1.0-py3-none-any.whl"
    with ZipFile(path, "w") as wheel:
        wheel.writestr(f"{name}.py", "")
        wheel.writestr(f"{name}-1.0.dist-info/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        wheel.writestr(f"{name}-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{name}-1.0.dist-info/RECORD", "")
    return path


@pytest.fixture
def environment(index: Path) -> Environment:
    (wheel,) = index.iterdir()
    requirements = index.parent / "requirements.txt"
    requirements.write_text(f"tiny==1.0 --hash=sha256:{hashlib.sha256(wheel.read_bytes()).hexdigest()}\n")
    return Environment("small", "Small packages", "no time", requirements)


def is_importable(python: Path, name: str) -> bool:
    return subprocess.run([python, "-P", "-c", f"import {name}"], stderr=subprocess.DEVNULL).returncode == 0


@with_each_installer
def test_the_first_use_makes_it_and_says_so_and_the_second_finds_it(
    environment: Environment, capsys: pytest.CaptureFixture[str]
) -> None:
    python = environment.python()
    said = capsys.readouterr().err
    assert said == f"Small packages go into {python.parents[1]}, once: no time.\n"
    assert environment.python() == python
    assert capsys.readouterr().err == ""


@with_each_installer
def test_nothing_but_its_own_packages_is_in_it(
    environment: Environment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "others").mkdir()
    with ZipFile(write_wheel(tmp_path / "others", "tiny")) as shown:
        shown.extractall(tmp_path / "others")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "others"))
    python = environment.python()
    monkeypatch.delenv("PYTHONPATH")
    found = {name: is_importable(python, name) for name in ("tiny", "pip", "pydantic", "slipway", "local_cloud")}
    assert found == {"tiny": True, "pip": False, "pydantic": False, "slipway": False, "local_cloud": False}


def test_a_python_that_can_bring_no_installer_is_told_in_one_sentence(
    environment: Environment, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (environments, package_installer):
        monkeypatch.setattr(module, "find_spec", lambda _: None)
    monkeypatch.setattr("shutil.which", lambda *_, **__: None)
    with pytest.raises(EnvironmentUnavailableError, match=r"none of uv, pip and ensurepip .*: install uv, or "):
        environment.python()


def test_one_that_was_not_finished_is_made_anew(environment: Environment) -> None:
    folder = environment.python().parents[1]
    (folder / ".ready").unlink()
    (folder / "half").touch()
    environment.python()
    assert not (folder / "half").exists()
    assert (folder / ".ready").exists()


def test_one_whose_python_has_gone_is_made_anew(environment: Environment) -> None:
    python = environment.python()
    python.unlink()
    python.symlink_to("/removed/python3")
    assert is_importable(environment.python(), "tiny")


@with_each_installer
def test_packages_that_cannot_be_had_are_told_in_one_sentence_and_leave_nothing(
    environment: Environment, index: Path, tmp_path: Path
) -> None:
    for wheel in index.iterdir():
        wheel.unlink()
    with pytest.raises(EnvironmentUnavailableError, match=r"^Small packages can't be installed: .*tiny.*; run this"):
        environment.python()
    assert [path.name for path in (tmp_path / "cache/slipway").iterdir()] == ["small.lock"]


def test_a_cache_that_cannot_be_written_is_told_in_one_sentence(
    environment: Environment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    with pytest.raises(EnvironmentUnavailableError, match=r"can't be put into .*/file/slipway: .*; make that folder"):
        environment.python()


def test_two_first_uses_at_once_make_one(environment: Environment, capfd: pytest.CaptureFixture[str]) -> None:
    with ThreadPoolExecutor(2) as users:
        made = set(users.map(lambda _: environment.python(), range(2)))
    assert len(made) == 1
    assert capfd.readouterr().err.count("once: no time") == 1


def test_old_ones_go_when_a_new_one_is_made_and_those_in_use_stay(environment: Environment, tmp_path: Path) -> None:
    cache = tmp_path / "cache/slipway"
    days = {"small-used": 29, "small-unused": 31, "other-unused": 31}
    for name, age in days.items():
        (cache / name).mkdir(parents=True)
        (cache / name / ".ready").touch()
        os.utime(cache / name / ".ready", (time.time() - age * 86_400,) * 2)
    (cache / "small-killed").mkdir()
    kept = {"small-used", "other-unused", "small.lock", environment.python().parents[1].name}
    assert {path.name for path in cache.iterdir()} == kept


def test_a_checkout_has_them_from_make(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environments, "HOME", tmp_path)
    with pytest.raises(EnvironmentUnavailableError, match=r"^\.venv-cloud is missing: run `make \.venv-cloud/\.ready`"):
        environments.CLOUD.python()
    (python := tmp_path / ".venv-cloud/bin/python").parent.mkdir(parents=True)
    python.symlink_to(sys.executable)
    assert environments.CLOUD.python() == python
