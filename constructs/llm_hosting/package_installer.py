"""Installs pinned packages with uv or pip, whichever the user has, for folders in the user's cache."""

import fcntl
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import distribution
from importlib.util import find_spec
from pathlib import Path


def cache_folder() -> Path:
    """Return the folder in which Slipway keeps what it can make again."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "slipway"


def has_pip() -> bool:
    """Return whether this Python has pip."""
    return find_spec("pip") is not None


def preferred_uv() -> str | None:
    """Return uv if it knows the user's package index: it installed this release, or there is no pip. None = use pip."""
    places = os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", "")))
    return shutil.which("uv", path=places) if _is_installed_by_uv() or not has_pip() else None


def failure_of(command: list[str]) -> str | None:
    """Run an installer. Return why it failed in one line without a full stop; None if it did not."""
    # Packages that PYTHONPATH shows would count as installed. A reason must be one line.
    variables = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | {"UV_NO_WRAP": "1"}
    done = subprocess.run(command, env=variables, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if not done.returncode:
        return None
    said = [line.strip() for line in (done.stderr or done.stdout).splitlines() if line.strip()]
    return re.sub(r"^\w+: |\.$", "", said[-1]) if said else f"exit status {done.returncode}"


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold a lock, which other processes that install the same packages wait for."""
    with path.open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print("Another Slipway is setting these packages up: waiting for it.", file=sys.stderr, flush=True)
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _is_installed_by_uv() -> bool:
    return (distribution("slipway-aws").read_text("INSTALLER") or "").strip() == "uv"
