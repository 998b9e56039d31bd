"""The CDK's command as a line for the user's shell."""

import json
from pathlib import Path

from llm_hosting.home import HOME
from llm_hosting.project import project_folder

_COMMAND = Path("node_modules", ".bin", "cdk")


def cdk(arguments: str, project: Path | None = None) -> str:
    """Return the line that runs the CDK with these arguments.

    If the project lacks the CDK, the line installs it first, because `npx` would offer to install another CDK.
    """
    return " && ".join(filter(None, (installation(project), f"npx cdk {arguments}")))


def installation(project: Path | None = None) -> str:
    """Return the line that installs the CDK's command in the project; empty if it is there."""
    project = project or project_folder()
    if (project / _COMMAND).exists():
        return ""
    lock = project / "package-lock.json"
    has_lock = lock.is_file() and '"node_modules/aws-cdk"' in lock.read_text(errors="replace")
    return "npm ci" if has_lock else f"npm install --save-dev aws-cdk@{tested_version()}"


def tested_version() -> str:
    """Return the version of the CDK's command with which this release was tested."""
    return str(json.loads((HOME / "package.json").read_text())["devDependencies"]["aws-cdk"])
