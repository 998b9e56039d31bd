"""Tells why CloudFormation failed, as `status` does."""

import sys

from botocore.exceptions import BotoCoreError, ClientError

from slipway.operations.last_failure import last_failure
from slipway.shared.aws_clients import Clients
from slipway.shared.aws_errors import sentence
from slipway.stack.deployed_stack import UnknownStackError, existing_stack


def explain(name: str, clients: Clients) -> None:
    """Print the reason, the cause with its fix, and the last lines of the model's log, as far as AWS tells them."""
    try:
        stack = existing_stack(name, clients)
        failure = last_failure(stack) if stack else None
    except UnknownStackError:
        return
    except (BotoCoreError, ClientError) as error:
        print(sentence(error), file=sys.stderr)
        return
    if failure:
        rows = [("reason", failure.reason), ("cause", failure.cause), *(("log", line) for line in failure.lines)]
        said = [f"  {label:8}{text}" for label, text in rows if text]
        print(f"\n{name} failed:", *said, "", sep="\n", file=sys.stderr)
