"""The template of a deployment, synthesized from this working tree or from a commit."""

import contextlib
import json
import os
import re
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from io import BytesIO
from pathlib import Path
from typing import Any

from llm_hosting import ACCOUNT_SETTINGS, ENDPOINT_PREFIX, STAGING_PREFIX, STANDARDS
from llm_hosting.cdk_app import CdkAppError, cdk_app, settings_of
from llm_hosting.deployment.paths import UnknownDeploymentError, find, stack_name
from llm_hosting.file_errors import why
from slipway.changes.template.reading import NoTemplateError

_PROBLEM = "  - "  # the start of each line of a DeploymentError
_FINDING = re.compile(r"^ERROR (.+)\n +(\S+)", re.MULTILINE)  # of cdk-nag, with the path of the construct
_FLAG = re.compile(r"^WARNING (The feature flag .+) \(Annotation\)$", re.MULTILINE)


@dataclass(frozen=True)
class Synthesized:
    """A synthesized template.

    stack: the stack's name. region: None if the template is for every region. warnings: of the feature flags with which
    our templates are not tested. report: the findings of cdk-nag.
    """

    stack: str
    region: str | None
    template: dict[str, Any]
    warnings: tuple[str, ...] = ()
    report: Mapping[str, Any] = field(default_factory=dict)


def synthesize(name: str, root: Path, python: str = sys.executable, *, standards: bool = False) -> Synthesized:
    """Run the app in `root` for a deployment given by name or path. Raises NoTemplateError with what the app says.

    name: may also name another stack of the app; then no deployment is in the context. A path is relative to `root`.
    python: the interpreter, whose packages the app uses. standards: whether cdk-nag judges by the packs of NIST 800-53,
    HIPAA and PCI, too; findings are then no error.
    """
    with tempfile.TemporaryDirectory(prefix="slipway-diff-") as folder:
        try:
            context = _in_context(name, root) | ({STANDARDS: "true"} if standards else {})
            app = cdk_app(root, context, Path(folder), python)
            done = subprocess.run(
                app.command,
                env=app.environment | {"PYTHONPATH": os.pathsep.join(_own_packages(root))},
                cwd=root,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
            )
            report = Path(folder) / "validation-report.json"
            if done.returncode and not (standards and report.is_file()):
                reason = _reason(done.stderr.strip() or done.stdout.strip())
                raise NoTemplateError(f"{name} can't be synthesized:{reason}")
            app.demand_assembly()
        except CdkAppError as error:
            raise NoTemplateError(str(error)) from error
        except OSError as error:
            raise NoTemplateError(f"--python: {python} can't be run: {why(error)}.") from error
        flags = dict.fromkeys(_FLAG.findall(done.stderr))
        found = json.loads(report.read_text()) if report.is_file() else {}
        return replace(_stack_of(name, root, Path(folder)), warnings=tuple(flags), report=found)


def demand_project(root: Path) -> None:
    """Raise NoTemplateError if the folder has no cdk.json that can be read."""
    try:
        settings_of(root)
    except CdkAppError as error:
        raise NoTemplateError(str(error)) from error


def _own_packages(root: Path) -> Iterator[str]:
    """The folders from which a checkout of Slipway at another commit imports its own code, and the variable's own."""
    if (root / "constructs").is_dir():
        yield from (str(root / each) for each in ("", "constructs", "lambda_src", "stacks"))
    if "PYTHONPATH" in os.environ:
        yield os.environ["PYTHONPATH"]


def _in_context(name: str, root: Path) -> dict[str, str]:
    """The context from which `create_app` makes the stack; empty for a stack of the app's own."""
    is_ours = name == ACCOUNT_SETTINGS or name.startswith((STAGING_PREFIX, ENDPOINT_PREFIX))
    return {"deployment": name} if is_ours or _file(name, root) is not None else {}


def _reason(said: str) -> str:
    """All problems of a refused file, or of cdk-nag, a line each; else the last line, which ends a traceback."""
    lines = said.splitlines() or ["the app says nothing"]
    problems = [each for each in lines if each.startswith(_PROBLEM)]
    problems += [f"{_PROBLEM}{construct}: {problem}" for problem, construct in _FINDING.findall(said)]
    if len(problems) > 1:
        return "\n".join(["", *problems])
    return f" {[*problems, lines[-1]][0].removeprefix(_PROBLEM)}"


def _stack_of(name: str, root: Path, assembly: Path) -> Synthesized:
    """The app's stack of this deployment, or of this name. Raises NoTemplateError."""
    artifacts = json.loads((assembly / "manifest.json").read_text())["artifacts"]
    stacks = {
        artifact["properties"].get("stackName", key): artifact
        for key, artifact in artifacts.items()
        if artifact["type"] == "aws:cloudformation:stack"
    }
    wanted = stack_of(name, root)
    if wanted not in stacks:
        made = f"only {', '.join(stacks)}" if stacks else "and no other one"
        raise NoTemplateError(f"{_unknown(name, root)}The app made no stack {wanted}, {made}.")
    properties, environment = stacks[wanted]["properties"], stacks[wanted]["environment"]
    region = environment.rpartition("/")[2]
    template = json.loads((assembly / properties["templateFile"]).read_text())
    return Synthesized(wanted, None if region == "unknown-region" else region, template)


def stack_of(name: str, root: Path) -> str:
    """The name of the deployment's stack; the name itself for a stack of the app that has no file."""
    file = _file(name, root)
    return stack_name(file) if file else name


def _file(name: str, root: Path) -> Path | None:
    return next((path for path in (root / "deployments" / f"{name}.yaml", root / name) if os.path.isfile(path)), None)


def _unknown(name: str, root: Path) -> str:
    """A sentence that names the deployments if none has this name; empty for a file and for stacks of ours."""
    if not _in_context(name, root):
        try:
            find(name, root / "deployments")
        except UnknownDeploymentError as error:
            return f"{error} "
    return ""


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
    if not any((each / ".git").exists() for each in (folder.resolve(), *folder.resolve().parents)):
        why = f"{folder} is in no git repository"
    elif said:
        why = said[0].removeprefix("fatal: ")
    elif not _git(folder, "rev-list", "--max-count=1", "--all").stdout:
        why = f"{repository_of(folder)} has no commit yet"
    else:
        why = f"there is no such branch, tag or commit in {repository_of(folder)}"
    if not said and _git(folder, "rev-parse", "--is-shallow-repository").stdout.strip() == b"true":
        why += ", a shallow clone (actions/checkout: fetch-depth: 0)"
    raise NoTemplateError(f"--against {ref}: {why}; use a git ref, `stack` or a template's file.")


def _git(folder: Path, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    try:
        return subprocess.run(["git", *arguments], cwd=folder, capture_output=True, stdin=subprocess.DEVNULL)
    except FileNotFoundError as error:
        raise NoTemplateError("git is not installed on this machine.") from error
