"""The versions of Slipway, Python and the packages, for bug reports."""

import os
import platform
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from llm_hosting.installed_version import installed_version


def described(root: Path) -> str:
    """Return the version, the commit of a checkout, and the versions that it runs with. root: the code's folder."""
    known = commit(root)
    place = f", commit {known} of {_git(root, 'log', '-1', '--format=%cs')}" if known else ""
    packages = ", ".join(f"{name} {_installed(name)}" for name in ("aws-cdk-lib", "boto3"))
    slipway = installed_version() or "(not installed)"
    return f"Slipway {slipway}{place}\nPython {platform.python_version()}, {packages}\n{platform.platform()}"


def commit(root: Path) -> str:
    """Return the commit as `git describe` names it, with `-dirty` if tracked files differ; empty = not known."""
    return _git(root, "describe", "--tags", "--always", "--dirty")


def _git(root: Path, *arguments: str) -> str:
    """Return the output of a git command; empty if there is no git, or no repository in `root` itself."""
    environment = os.environ | {"GIT_CEILING_DIRECTORIES": str(root.parent)}
    try:
        done = subprocess.run(["git", *arguments], cwd=root, env=environment, capture_output=True, text=True)
    except OSError:
        return ""
    return done.stdout.strip()


def _installed(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "missing"
