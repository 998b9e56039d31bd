"""The wheel and the source distribution, built from this checkout, and an environment with nothing but the wheel."""

import os
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from support.repository import ROOT


@dataclass(frozen=True)
class Release:
    """What `make package` builds."""

    wheel: Path
    source: Path


@dataclass(frozen=True)
class Shell:
    """Runs commands as a new user does: in a folder of their own, with an environment that knows no checkout."""

    folder: Path
    variables: Mapping[str, str]

    def popen(self, *command: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [shutil.which(command[0], path=self.variables["PATH"]) or command[0], *command[1:]],
            cwd=self.folder,
            env=self.variables,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def run(self, *command: str, status: int = 0) -> str:
        """Run a command to its end, and return what it printed."""
        process = self.popen(*command)
        printed, _ = process.communicate()
        assert process.returncode == status, printed
        return printed


def build(checkout: Path, folder: Path) -> Release:
    subprocess.run(
        ["uv", "build", "--quiet", "--no-build-isolation", "--out-dir", str(folder), str(checkout)], check=True
    )
    (wheel,), (source,) = folder.glob("*.whl"), folder.glob("*.tar.gz")
    return Release(wheel, source)


@pytest.fixture(scope="session")
def release(tmp_path_factory: pytest.TempPathFactory) -> Release:
    return build(ROOT, tmp_path_factory.mktemp("dist"))


@pytest.fixture(scope="session")
def shell(release: Release, tmp_path_factory: pytest.TempPathFactory) -> Shell:
    """A shell beside an activated environment with the wheel; caches are empty but for downloaded packages."""
    return _shell(release, tmp_path_factory.mktemp("user"))


@pytest.fixture(scope="session")
def shell_of_the_oldest(release: Release, tmp_path_factory: pytest.TempPathFactory) -> Shell:
    """A shell whose environment has the oldest version of each package of which we name a range."""
    oldest = ("--resolution", "lowest-direct", "--requirements", str(ROOT / "pyproject.toml"))
    return _shell(release, tmp_path_factory.mktemp("user-of-the-oldest"), *oldest)


def _shell(release: Release, folder: Path, *arguments: str) -> Shell:
    """Make an environment with the wheel. arguments: more of them for the installer."""
    subprocess.run(["uv", "venv", "--quiet", str(folder / "env")], check=True)
    install = ["uv", "pip", "install", "--quiet", "--python", str(folder / "env"), *arguments, str(release.wheel)]
    subprocess.run(install, check=True, cwd=folder)
    (folder / "tools").mkdir()
    (folder / "tools/uv").symlink_to(str(shutil.which("uv")))  # uv alone: the checkout's commands stand beside it
    downloads = subprocess.run(["uv", "cache", "dir"], capture_output=True, text=True, check=True).stdout.strip()
    # The variables of an account, of this test run and of the checkout.
    left_out = ("AWS_", "GIT_", "PYTEST_", "PATH", "PYTHONPATH", "VIRTUAL_ENV", "XDG_CACHE_HOME")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(left_out)}
    return Shell(
        folder,
        {
            **kept,
            "PATH": os.pathsep.join((f"{folder}/env/bin", f"{folder}/tools", os.defpath)),
            "UV_CACHE_DIR": downloads,
            "XDG_CACHE_HOME": str(folder / "cache"),
        },
    )
