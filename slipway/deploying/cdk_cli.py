"""Finds the CDK CLI of a project and runs it, with its output passed through."""

import contextlib
import json
import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from llm_hosting.cdk_app import CdkAppError, search_path
from slipway.shared.cdk_command import installation, tested_version


class CdkCliError(Exception):
    """The CDK CLI can't be used; the message is one sentence with the fix."""


@dataclass(frozen=True)
class CdkCli:
    """The CDK CLI of a project. command: its path. project: the folder with `cdk.json`."""

    command: str
    project: Path

    def run(self, *arguments: str, region: str) -> int:
        """Run the command in the project and return its exit status."""
        return subprocess.call([self.command, *arguments], cwd=self.project, env=_environment(region))


def find_cli(project: Path) -> CdkCli:
    """Return the CLI in the project's `node_modules`, else the one on the PATH. Raises CdkCliError."""
    if not (project / "cdk.json").is_file():
        raise CdkCliError(f"There is no cdk.json in {project}: run this in a folder that `slipway init` has made.")
    try:
        path = search_path()
    except CdkAppError as error:
        raise CdkCliError(str(error)) from error
    command = shutil.which("cdk", path=f"{project / 'node_modules' / '.bin'}{os.pathsep}{path}")
    if command is None:
        raise CdkCliError(f"The CDK CLI is missing: run `{installation(project)}` in {project}.")
    found, least = _version(command, project), tested_version()
    if _numbers(found) < _numbers(least):
        raise CdkCliError(
            f"{command} is version {found}, and {least} or newer is needed: "
            f"run `npm install --save-dev aws-cdk@{least}` in {project}."
        )
    return CdkCli(command, project)


def _version(command: str, project: Path) -> str:
    """Return the version that npm installed, which is read in no time, or else the one that the command tells."""
    installed = Path(command).resolve().parents[1] / "package.json"
    with contextlib.suppress(OSError, ValueError, KeyError):
        return str(json.loads(installed.read_text())["version"])
    asked = subprocess.run([command, "--version"], env=_environment(), capture_output=True, text=True)
    if asked.returncode or not (told := re.match(r"\d+\.\d+\.\d+", asked.stdout)):
        said = (asked.stderr or asked.stdout).strip().splitlines() or [f"exit status {asked.returncode}"]
        raise CdkCliError(f"{command} does not work ({said[-1]}): run `npm ci` in {project}.")
    return told[0]


def _numbers(version: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", version)[:3]]


def _environment(region: str | None = None) -> dict[str, str]:
    return (
        os.environ | {"PATH": search_path()} | ({"AWS_REGION": region, "AWS_DEFAULT_REGION": region} if region else {})
    )
