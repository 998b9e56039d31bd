"""Tells why CloudFormation failed, as `status` does."""

import sys
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from slipway.operations.last_failure import last_failure
from slipway.shared.aws_clients import Clients
from slipway.shared.aws_errors import sentence
from slipway.stack.deployed_stack import DeployedStack, UnknownStackError, existing_stack


def explain(name: str, clients: Clients, before: DeployedStack | None = None) -> None:
    """Print the reason, the cause with its fix, and the last lines of the model's log, as far as AWS tells them.

    before: the stack before the command. If CloudFormation has not touched it since, its last failure is an older one.
    """
    try:
        stack = existing_stack(name, clients)
        failure = last_failure(stack) if stack and _last_touched(stack) != _last_touched(before) else None
    except UnknownStackError:
        return
    except (BotoCoreError, ClientError) as error:
        print(sentence(error), file=sys.stderr)
        return
    if failure:
        rows = [("reason", failure.reason), ("cause", failure.cause), *(("log", line) for line in failure.lines)]
        said = [f"  {label:8}{text}" for label, text in rows if text]
        print(f"\n{name} failed:", *said, "", sep="\n", file=sys.stderr)


def _last_touched(stack: DeployedStack | None) -> tuple[Any, ...]:
    return tuple(stack.described.get(key) for key in ("StackId", "LastUpdatedTime")) if stack else ()
