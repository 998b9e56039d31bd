"""The CDK's command as a line for the user's shell."""

from pathlib import Path

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
    return "npm ci" if (project / "package-lock.json").exists() else "npm install aws-cdk"
