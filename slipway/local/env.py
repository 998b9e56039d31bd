"""Prints shell lines for `eval`, after which a shell talks to the local cloud."""

import shlex
import sys
from pathlib import Path

from slipway.local.running_cloud import NotRunningError, variables_of


def run(root: Path, port: int | None) -> int:
    """Print the lines, for bash and zsh. Returns the exit status: 2 if no local cloud runs."""
    try:
        variables = variables_of(root, port)
    except NotRunningError as error:
        print(error, file=sys.stderr)
        return 2
    print("unset AWS_PROFILE AWS_DEFAULT_PROFILE")  # with a profile set, the CDK's command would ignore the key
    for name, value in variables.items():
        print(f"export {name}={shlex.quote(value)}")
    return 0
