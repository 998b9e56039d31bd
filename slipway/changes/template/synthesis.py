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

from llm_hosting.file_errors import why
from slipway.changes.template.reading import NoTemplateError

_PROBLEM = "  - "  # the start of each line of a DeploymentError


@dataclass(frozen=True)
class Synthesized:
    """A synthesized template. stack: the stack's name. region: None if the template is for every region."""

    stack: str
    region: str | None
    template: dict[str, Any]


def synthesize(name: str, root: Path) -> Synthesized:
    """Run the app in `root` for a deployment given by name or path. Raises NoTemplateError with what the app says."""
    with tempfile.TemporaryDirectory(prefix="slipway-diff-") as folder:
        try:
            context = json.loads((root / "cdk.json").read_text()).get("context", {}) | {"deployment": name}
        except OSError as error:
            raise NoTemplateError(f"{root / 'cdk.json'} can't be read: {why(error)}.") from error
        except ValueError as error:
            raise NoTemplateError(f"{root / 'cdk.json'} is not valid JSON: {error}.") from error
        environment = os.environ | {
            "CDK_CONTEXT_JSON": json.dumps(context),
            "CDK_OUTDIR": folder,
            "PYTHONPATH": os.pathsep.join(_own_packages(root)),
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",  # where Node is
        }
        command = [sys.executable, str(root / "app.py")]
        done = subprocess.run(
            command, env=environment, cwd=root, stdin=subprocess.DEVNULL, capture_output=True, text=True
        )
        if done.returncode:
            raise NoTemplateError(f"{name} can't be synthesized:{_reason(done.stderr.strip() or done.stdout.strip())}")
        return _only_stack(Path(folder))


def _own_packages(root: Path) -> Iterator[str]:
    """The folders from which a checkout of Slipway at another commit imports its own code, and the variable's own."""
    if (root / "constructs").is_dir():
        yield from (str(root / each) for each in ("", "constructs", "lambda_src", "stacks"))
    if "PYTHONPATH" in os.environ:
        yield os.environ["PYTHONPATH"]


def _reason(said: str) -> str:
    """All problems of a refused file, a line each; of any other output the last line, which ends a traceback."""
    lines = said.splitlines() or ["the app says nothing"]
    problems = [each for each in lines if each.startswith(_PROBLEM)]
    return "\n".join(["", *problems]) if len(problems) > 1 else f" {lines[-1].removeprefix(_PROBLEM)}"


def _only_stack(assembly: Path) -> Synthesized:
    artifacts = json.loads((assembly / "manifest.json").read_text())["artifacts"]
    for name, artifact in artifacts.items():
        if artifact["type"] == "aws:cloudformation:stack":
            region = artifact["environment"].rpartition("/")[2]
            template = json.loads((assembly / artifact["properties"]["templateFile"]).read_text())
            stack = artifact["properties"].get("stackName", name)
            return Synthesized(stack, None if region == "unknown-region" else region, template)
    raise NoTemplateError("The app made no stack.")


def repository_of(folder: Path) -> Path | None:
    """The top folder of the git repository around the folder; None if there is none."""
    found = _git(folder, "rev-parse", "--show-toplevel")
    return None if found.returncode else Path(found.stdout.decode().rstrip("\n"))


@contextlib.contextmanager
def checked_out(ref: str, folder: Path) -> Iterator[Path]:
    """A temporary copy of the folder as it was at a commit of its repository; empty if the commit lacks the folder.

    The working tree stays as it is. Raises NoTemplateError.
    """
    commit = _commit(ref, folder)
    with tempfile.TemporaryDirectory(prefix="slipway-diff-") as copy:
        if not _git(folder, "cat-file", "-e", f"{commit}:./").returncode:
            archive = _git(folder, "archive", "--format=tar", commit)
            if archive.returncode:
                raise NoTemplateError(f"--against {ref}: {archive.stderr.decode().strip().removeprefix('fatal: ')}.")
            with tarfile.open(fileobj=BytesIO(archive.stdout)) as files:
                files.extractall(copy, filter="tar")  # keeps links, as a checkout does
        yield Path(copy)


def _commit(ref: str, folder: Path) -> str:
    commit = _git(folder, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{ref}^{{commit}}")
    if not commit.returncode:
        return commit.stdout.decode().strip()
    said = commit.stderr.decode().strip().splitlines()
    why = (
        said[0].removeprefix("fatal: ")
        if said
        else f"there is no such branch, tag or commit in {repository_of(folder)}"
    )
    if not said and _git(folder, "rev-parse", "--is-shallow-repository").stdout.strip() == b"true":
        why += ", a shallow clone (actions/checkout: fetch-depth: 0)"
    raise NoTemplateError(f"--against {ref}: {why}; use a git ref, `stack` or a template's file.")


def _git(folder: Path, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    try:
        return subprocess.run(["git", *arguments], cwd=folder, capture_output=True, stdin=subprocess.DEVNULL)
    except FileNotFoundError as error:
        raise NoTemplateError("git is not installed on this machine.") from error
