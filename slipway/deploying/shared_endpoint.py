"""Deploys a shared endpoint: judges it with the deployments on it, shows what happens, asks, runs the CDK CLI."""

import sys
from pathlib import Path

from llm_hosting.catalog.instances import instances
from llm_hosting.deployment.file import DeploymentError
from llm_hosting.deployment.settings.shared_endpoint import Shared
from llm_hosting.preflight.shared_endpoints import load_endpoint
from slipway.account.account import Account
from slipway.account.bootstrap import is_bootstrapped
from slipway.checking.check import OtherRegionError
from slipway.deploying.cdk_cli import find_cli
from slipway.deploying.failure import explain
from slipway.deploying.plan import NOT_MADE, BusyStackError, bootstrap_step, deploy_step
from slipway.operations import status
from slipway.shared.aws_clients import clients_in, local_cloud
from slipway.shared.terminal import ask_on_terminal
from slipway.stack.deployed_stack import existing_stack
from slipway.templates import diff

_YES = ("y", "yes")


def deploy(path: Path, root: Path, region: str | None, *, sure: bool) -> int:
    """Deploy the endpoint of a file.

    region: for a file that names none. Returns the exit status: 0 if it is deployed, 1 if something is refused,
    declined or fails, 2 if nothing could be asked, 130 after Ctrl-C. Raises BusyStackError, OtherRegionError,
    CdkCliError.
    """
    cli = find_cli(root)
    try:
        occupied, findings = load_endpoint(path, root)
    except DeploymentError as error:
        print(f"{error}\nNothing was deployed.", file=sys.stderr)
        return 1
    shared, own = occupied.shared, occupied.endpoint.region
    if region and own and own != region:
        raise OtherRegionError(f"--region {region}: {shared.file} is made for {own}; leave --region out.")
    clients = clients_in(own or region)
    account, stack = Account(clients), existing_stack(shared.stack, clients)
    if stack and stack.status.endswith("IN_PROGRESS") and stack.status not in NOT_MADE:
        raise BusyStackError(f"The stack {stack.name} is {stack.status}; wait until CloudFormation is done.")
    is_update = stack is not None and stack.status not in NOT_MADE
    if is_update and (found := diff.run(shared.stack, root, diff.DiffOptions("stack", account.region))):
        print("Nothing was deployed.", file=sys.stderr)
        return found
    words = _words(shared, "update" if is_update else "create", is_local=local_cloud(clients) is not None)
    words += [f"   {each.level}: {each.field}: {each.message}" for each in findings]
    steps = [] if is_bootstrapped(account) else [bootstrap_step(account.id, account.region)]
    steps.append(deploy_step(words, [shared.stack], [shared.stack], account.region))
    print(f"Account {account.id}\nSlipway will", *(f"  {line}" for step in steps for line in step.words), sep="\n")
    if not sure and ask_on_terminal("\nDeploy? [y/N] ", to="deploy", done="deployed").lower() not in _YES:
        print("Nothing was deployed.", file=sys.stderr)
        return 1
    for step in steps:
        print(f"\n{step.command}", flush=True)
        try:
            failed = cli.run(*step.arguments, region=step.region)
        except KeyboardInterrupt:
            print(f"\nStopped waiting. CloudFormation goes on: `slipway status {shared.stack}` shows it.")
            return 130
        if failed:
            explain(shared.stack, clients, before=stack)
            print(f"`{step.command}` failed; mend it, then deploy again.", file=sys.stderr)
            return 1
    print()
    return status.run(shared.stack, account.region, as_json=False)


def _words(shared: Shared, verb: str, *, is_local: bool) -> list[str]:
    """Return what happens, and its price: the instances bill also while the endpoint is empty."""
    count, instance = shared.endpoint.instance_count, instances()[shared.endpoint.instance_type]
    price = instance.price(max(count.min, 1), count.max) or "an unknown rate"
    until = "until it is destroyed" if count.min else "while it is empty at first, and while a model on it is awake"
    cost = f"{'nothing here; on AWS ' if is_local else ''}{price} {until}"
    return [f"{verb} {shared.stack} ({count.min} to {count.max} x {instance.type}): {cost}"]
