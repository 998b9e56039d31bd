"""Shows the resources that a destroy or an update left behind, asks, and removes them."""

import sys
from collections.abc import Callable, Sequence
from functools import partial

from botocore.exceptions import BotoCoreError, ClientError

from llm_hosting import DEPLOYMENT_TAG
from slipway.leftovers.retained_resource import BusyEndpointError, RetainedResource
from slipway.leftovers.search import RemovalError, find, find_left
from slipway.shared.aws_clients import Clients, clients_in
from slipway.shared.aws_errors import sentence
from slipway.shared.terminal import NoTerminalError, ask_on_terminal
from slipway.stack.deployed_stack import DeployedStack, UnknownStackError, existing_stack

_SETTLED = ("CREATE_COMPLETE", "UPDATE_COMPLETE", "UPDATE_ROLLBACK_COMPLETE")


class PurgeError(Exception):
    """Nothing was removed; the message is one sentence."""


def run(deployment: str, region: str | None, *, sure: bool) -> int:
    """Purge the deployment with this name. Returns the exit status."""
    return purge(
        deployment, clients_in(region), ask=None if sure else partial(ask_on_terminal, to="remove", done="removed")
    )


def purge(deployment: str, clients: Clients, ask: Callable[[str], str] | None) -> int:
    """Show the retained resources, ask for confirmation, and remove them.

    ask: shows a prompt and returns the answer; None = remove without asking. Returns the exit status: 0 if nothing is
    left, 1 after a problem, 2 if the stack of that name is not Slipway's or nobody can be asked. A problem is printed
    as one sentence.
    """
    try:
        return _purge(deployment, clients, ask)
    except (NoTerminalError, UnknownStackError) as error:
        print(error, file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("\nstopped; the remaining resources are still there", file=sys.stderr)
    except (BusyEndpointError, PurgeError, RemovalError) as error:
        print(error, file=sys.stderr)
    except (BotoCoreError, ClientError) as error:
        print(sentence(error), file=sys.stderr)
    return 1


def _purge(deployment: str, clients: Clients, ask: Callable[[str], str] | None) -> int:
    stack = existing_stack(deployment, clients)
    unknown: list[str] = []
    if stack is None:
        resources, unknown = find(deployment, clients)
    else:
        _demand_settled(stack)
        resources = find_left(stack)
    region, account = clients("sts").meta.region_name, clients("sts").get_caller_identity()["Account"]
    where = f"in {region} of account {account}"
    for arn in unknown:
        print(f"not removed, because Slipway does not create this kind of resource: {arn}")
    earlier = f"earlier stacks and updates of {deployment}" if stack else deployment
    if not resources:
        why = f"nothing there has the tag {DEPLOYMENT_TAG}={deployment}"
        if stack:
            end = "you remove it from your app, and deploy" if stack.service else f"`slipway destroy {deployment}`"
            why = f"its own resources go after {end}"
        print(f"Nothing of {earlier} is left {where}: {why}.")
        return 0
    print(f"Left of {earlier} {where}{', whose stack stays' if stack else ''}:\n")
    show(resources)
    if protecting := [each.protected for each in resources if each.protected]:
        raise PurgeError(f"The table is protected against deletion; lift that first: {protecting[0]}")
    print("\nRemoved resources cannot be restored.")
    if ask and ask(f"Type {deployment} to remove all of it: ") != deployment:
        raise PurgeError(f"The answer is not {deployment}; nothing was removed.")
    for each in resources:
        each.remove()
        print(f"removed {each.kind} {each.name}")
    return 0


def _demand_settled(stack: DeployedStack) -> None:
    """Raise PurgeError during an update and after a failed update.

    An update needs resources that no endpoint uses yet, and a failed update may continue or roll back.
    """
    name, status = stack.stack_name, stack.status
    if status.endswith("IN_PROGRESS"):
        raise PurgeError(f"The stack {name} is {status}; wait until CloudFormation is done.")
    if status not in _SETTLED:
        if stack.service:
            raise PurgeError(f"Your stack {name} is {status}; deploy your app, and then purge {stack.name}.")
        raise PurgeError(f"The stack {name} still exists ({status}); destroy it first: slipway destroy {name}")


def show(resources: Sequence[RetainedResource]) -> None:
    """Print a line for each resource."""
    rows = [(each.kind, each.name, each.holds) for each in resources]
    kinds, names = (max(len(row[column]) for row in rows) for column in (0, 1))
    for kind, name, holds in rows:
        print(f"  {kind:{kinds}}  {name:{names}}  {holds}")
