"""Python environments of the local cloud's own, in which nothing but pinned packages is installed.

A checkout has them in its own folder, where `make` puts them. A Slipway that was installed as a package makes each one
at its first use, in the user's cache folder.
"""

import hashlib
import platform
import shutil
import sys
import sysconfig
import time
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from llm_hosting.file_errors import why
from llm_hosting.home import HOME, IS_CHECKOUT
from llm_hosting.package_installer import cache_folder, failure_of, has_pip, locked, preferred_uv
from local_cloud.interpreters.start import PACKAGE

UNUSED_AFTER_DAYS = 30


class EnvironmentUnavailableError(Exception):
    """An environment can't be had; the message is one sentence with the fix."""


@dataclass(frozen=True)
class Environment:
    """Packages at exact versions, with a Python of their own.

    name: a checkout has it in .venv-<name>. contents and cost: in words, for who waits for it.
    requirements: the packages with their hashes.
    """

    name: str
    contents: str
    cost: str
    requirements: Path

    def python(self) -> Path:
        """Return the interpreter; the first use makes the environment. Raises EnvironmentUnavailableError."""
        if IS_CHECKOUT:
            return self._of_checkout()
        folder = cache_folder() / f"{self.name}-{self._key()}"
        if not _is_ready(folder):
            try:
                self._make_once(folder)
            except OSError as error:
                raise EnvironmentUnavailableError(
                    f"{self.contents} can't be put into {folder.parent}: {why(error)}; "
                    "make that folder writable, or name another by XDG_CACHE_HOME."
                ) from error
        with suppress(OSError):  # in a cache that can only be read
            _stamp(folder).touch()  # when it was used last
        return _python(folder)

    def packages(self) -> Path:
        """Return the folder with the packages. Raises EnvironmentUnavailableError."""
        return Path(sysconfig.get_path("purelib", "venv", {"base": str(self.python().parents[1])}))

    def _of_checkout(self) -> Path:
        folder = HOME / f".venv-{self.name}"
        if not _python(folder).exists():
            raise EnvironmentUnavailableError(f"{folder.name} is missing: run `make {folder.name}/.ready`.")
        return _python(folder)

    def _key(self) -> str:
        """Return a name for these packages on this kind of Python, which another release may share."""
        python = (platform.python_implementation(), *sys.version_info[:2], platform.machine())
        return hashlib.sha256(self.requirements.read_bytes() + repr(python).encode()).hexdigest()[:12]

    def _make_once(self, folder: Path) -> None:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with locked(folder.parent / f"{self.name}.lock"):
            if not _is_ready(folder):  # another process may have made it
                print(f"{self.contents} go into {folder}, once: {self.cost}.", file=sys.stderr, flush=True)
                self._make(folder)
            for other in folder.parent.glob(f"{self.name}-*"):
                if _is_unused(other):
                    print(f"{other} is removed: unused for {UNUSED_AFTER_DAYS} days.", file=sys.stderr)
                    shutil.rmtree(other, ignore_errors=True)

    def _make(self, folder: Path) -> None:
        shutil.rmtree(folder, ignore_errors=True)
        try:
            for command in _commands(folder, self.requirements):
                self._run(command)
        except BaseException:  # also Ctrl-C: nothing half made stays
            shutil.rmtree(folder, ignore_errors=True)
            raise
        _stamp(folder).touch()

    def _run(self, command: list[str]) -> None:
        if reason := failure_of(command):
            raise EnvironmentUnavailableError(
                f"{self.contents} can't be installed: {reason}; run this again where your package index "
                "can be reached, which is needed once."
            )


CLOUD = Environment(
    "cloud", "The local cloud's packages", "about 80 MB, in less than a minute", PACKAGE / "requirements.txt"
)
MODELS = Environment(
    "models",
    "The packages that run a real model",
    "about 5 GB, in some minutes",
    PACKAGE / "requirements-models.txt",
)


def _python(folder: Path) -> Path:
    return folder / "bin" / "python"


def _stamp(folder: Path) -> Path:
    return folder / ".ready"


def _is_ready(folder: Path) -> bool:
    return _stamp(folder).exists() and _python(folder).exists()  # its Python links to one that may have gone


def _is_unused(folder: Path) -> bool:
    """Return whether nobody used the environment lately, or whoever made it was killed before its end."""
    if not _stamp(folder).exists():
        return True
    return time.time() - _stamp(folder).stat().st_mtime > UNUSED_AFTER_DAYS * 86_400


def _commands(folder: Path, requirements: Path) -> list[list[str]]:
    """Return the commands that make an environment, of the installer that knows the user's package index."""
    if uv := preferred_uv():
        return [
            [uv, "venv", "--quiet", "--python", sys.executable, str(folder)],
            [uv, "pip", "sync", "--quiet", "--require-hashes", "--python", str(folder), str(requirements)],
        ]
    venv, installer = [sys.executable, "-m", "venv"], sys.executable
    made = [[*venv, "--without-pip", str(folder)]]
    if not has_pip():  # as in an environment that uv made: Python brings one, which stays apart from the packages
        if find_spec("ensurepip") is None:
            raise EnvironmentUnavailableError(
                "This Python has none of uv, pip and ensurepip to install packages with: "
                "install uv, or the system's package python3-venv."
            )
        made.append([*venv, str(folder / "pip")])
        installer = str(_python(folder / "pip"))
    options = ["--quiet", "--disable-pip-version-check", "--no-input", "--require-hashes", "-r", str(requirements)]
    return [*made, [installer, "-m", "pip", "--python", str(_python(folder)), "install", *options]]
