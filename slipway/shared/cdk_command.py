"""The CDK's command as a line for the user's shell."""

from pathlib import Path

from llm_hosting.project import project_folder

_COMMAND = Path("node_modules", ".bin", "cdk")


def cdk(arguments: str, command: Path | None = None) -> str:
    """Return the line that runs the CDK with these arguments.

    If the checkout lacks the CDK, the line begins with `make setup`, because `npx` would offer to install another CDK.
    """
    return f"{'' if (command or project_folder() / _COMMAND).exists() else 'make setup && '}npx cdk {arguments}"
