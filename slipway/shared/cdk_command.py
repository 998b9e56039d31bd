"""The CDK's command as a line for the user's shell."""

from pathlib import Path

from slipway.shared.checkout import ROOT

_COMMAND = ROOT / "node_modules" / ".bin" / "cdk"


def cdk(arguments: str, command: Path = _COMMAND) -> str:
    """After `make setup` where the checkout lacks the command: `npx` would offer to download any other."""
    return f"{'' if command.exists() else 'make setup && '}npx cdk {arguments}"
