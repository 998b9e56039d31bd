"""The template of a deployment, synthesized from this working tree or from a commit."""

import contextlib
import json
import os
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

from slipway.changes.template_file import TemplateError


@dataclass(frozen=True)
class Synthesized:
    """stack: its name. region: None = the template is for every region."""

    stack: str
    region: str | None
    template: dict[str, Any]


def synthesize(name: str, root: Path) -> Synthesized:
    """Run the app in `root` for a deployment given by name or path. Raises TemplateError with what the app says."""
    with tempfile.TemporaryDirectory(prefix="slipway-diff-") as folder:
        try:
            context = json.loads((root / "cdk.json").read_text()).get("context", {}) | {"deployment": name}
        except (OSError, ValueError) as error:
            raise TemplateError(f"{root / 'cdk.json'} can't be read: {error}") from error
        environment = os.environ | {
            "CDK_CONTEXT_JSON": json.dumps(context),
            "CDK_OUTDIR": folder,
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",  # where Node is
        }
        command = [sys.executable, str(root / "app.py")]
        done = subprocess.run(
            command, env=environment, cwd=root, stdin=subprocess.DEVNULL, capture_output=True, text=True
        )
        if done.returncode:
            said = (done.stderr.strip() or done.stdout.strip()).splitlines()
            raise TemplateError(f"{name} can't be synthesized: {said[-1] if said else 'the app says nothing'}")
        return _only_stack(Path(folder))


def _only_stack(assembly: Path) -> Synthesized:
    artifacts = json.loads((assembly / "manifest.json").read_text())["artifacts"]
    for name, artifact in artifacts.items():
        if artifact["type"] == "aws:cloudformation:stack":
            region = artifact["environment"].rpartition("/")[2]
            template = json.loads((assembly / artifact["properties"]["templateFile"]).read_text())
            stack = artifact["properties"].get("stackName", name)
            return Synthesized(stack, None if region == "unknown-region" else region, template)
    raise TemplateError("The app has made no stack.")


@contextlib.contextmanager
def checked_out(ref: str, root: Path) -> Iterator[Path]:
    """The files of a commit in a folder that goes afterwards; the working tree stays as it is. Raises TemplateError."""
    commit = _git(root, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{ref}^{{commit}}")
    if commit.returncode:
        said = commit.stderr.decode().strip().splitlines()
        why = said[0].removeprefix("fatal: ") if said else "there is no such branch, tag or commit"
        if not said and _git(root, "rev-parse", "--is-shallow-repository").stdout.strip() == b"true":
            why += " in this shallow clone (actions/checkout: fetch-depth: 0)"
        raise TemplateError(f"--against {ref}: {why}; use a git ref, `stack` or a template's file.")
    archive = _git(root, "archive", "--format=tar", commit.stdout.decode().strip())
    if archive.returncode:
        raise TemplateError(f"--against {ref}: {archive.stderr.decode().strip().removeprefix('fatal: ')}.")
    with tempfile.TemporaryDirectory(prefix="slipway-diff-") as folder:
        with tarfile.open(fileobj=BytesIO(archive.stdout)) as files:
            files.extractall(folder, filter="tar")  # links, too, as a checkout has them
        yield Path(folder)


def _git(root: Path, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    try:
        return subprocess.run(["git", *arguments], cwd=root, capture_output=True, stdin=subprocess.DEVNULL)
    except FileNotFoundError as error:
        raise TemplateError("There is no git on this machine.") from error
