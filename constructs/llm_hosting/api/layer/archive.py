"""Makes the archive of the layer once for each architecture, in the user's cache folder."""

import hashlib
import shutil
import sys
import tempfile
from pathlib import Path

from ...archive import ArchiveError, zipped
from ...package_installer import cache_folder, failure_of, has_pip, locked, preferred_uv

REQUIREMENTS = Path(__file__).parent / "requirements.txt"
_PYTHON = "3.14"  # handler_function.py has Lambda's runtime
_MACHINES = {"arm64": "aarch64", "x86_64": "x86_64"}
# Amazon Linux 2023, on which the runtime stands, has glibc 2.34.
_PLATFORMS = ("manylinux_2_28", "manylinux_2_17", "manylinux2014")
_IN_LAYER = "python"  # the folder of a layer from which Python imports


def layer_hash(architecture: str) -> str:
    """Return the hash of the layer: of its requirements, so that it is the same wherever the layer is made."""
    return hashlib.sha256(REQUIREMENTS.read_bytes() + architecture.encode()).hexdigest()


def layer_archive(architecture: str) -> Path:
    """Return the archive; the first use makes it. Raises ArchiveError."""
    folder = cache_folder()
    archive = folder / f"layer-{layer_hash(architecture)[:12]}.zip"
    if archive.exists():
        return archive
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with locked(folder / "layer.lock"):
            if not archive.exists():  # another process may have made it
                _make(archive, architecture)
    except OSError as error:
        raise ArchiveError(
            f"The layer of api.auth: jwt can't be put into {folder}: {error.strerror}; make that folder writable, or "
            "name another by XDG_CACHE_HOME."
        ) from error
    return archive


def _make(archive: Path, architecture: str) -> None:
    print(f"The packages of api.auth: jwt go into {archive}, once.", file=sys.stderr, flush=True)
    with tempfile.TemporaryDirectory(dir=archive.parent, prefix="layer-") as made:
        target = Path(made) / _IN_LAYER
        if reason := failure_of(_command(target, _MACHINES[architecture])):
            raise ArchiveError(
                f"The packages of api.auth: jwt can't be installed: {reason}; run this again where your package index "
                "can be reached, which is needed once."
            )
        shutil.rmtree(target / "bin", ignore_errors=True)
        part = archive.with_suffix(".part")
        part.write_bytes(zipped(Path(made)))
        part.replace(archive)


def _command(target: Path, machine: str) -> list[str]:
    """Return the command that installs wheels for Lambda's Python, whatever Python and machine this is."""
    wanted = ["--target", str(target), "--python-version", _PYTHON, "--only-binary", ":all:", "--require-hashes"]
    wanted += ["--requirement", str(REQUIREMENTS), "--quiet"]
    if uv := preferred_uv():
        platform = f"{machine}-{_PLATFORMS[0]}"
        return [uv, "pip", "install", "--python", sys.executable, "--python-platform", platform, *wanted]
    if not has_pip():
        raise ArchiveError(
            "api.auth: jwt needs uv or pip to install the packages of its authorizer: install one of them."
        )
    platforms = [part for each in _PLATFORMS for part in ("--platform", f"{each}_{machine}")]
    options = ["--no-compile", "--disable-pip-version-check", "--no-input", "--implementation", "cp"]
    options += [part for abi in (f"cp{_PYTHON.replace('.', '')}", "abi3", "none") for part in ("--abi", abi)]
    return [sys.executable, "-m", "pip", "install", *options, *platforms, *wanted]
