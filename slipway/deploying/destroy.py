"""Destroys a deployment: shows what goes and what stays, asks, runs the CDK CLI, and looks for what still bills."""

import os
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from llm_hosting.cdk_app import search_path, settings_of
from llm_hosting.installed_version import demand_cdk
from llm_hosting.stack_label import SHARED_ENDPOINT
from slipway.deploying.cdk_cli import CdkCliError, find_cli
from slipway.deploying.failure import explain
from slipway.hosting.component import is_changing
from slipway.hosting.hosting import hosting_of
from slipway.hosting.shared_endpoint import users_of_endpoint
from slipway.leftovers.proof import tell_what_is_left
from slipway.operations.status import state_of
from slipway.shared.aws_clients import clients_in
from slipway.shared.terminal import NoTerminalError, ask_on_terminal
from slipway.stack.deployed_stack import DeployedStack, UnknownStackError, asking_aws, existing_stack, find_stack
from slipway.templates.diff import deployed_template

_KEY = "KMS key"
_KINDS = {
    "AWS::S3::Bucket": "bucket",
    "AWS::DynamoDB::Table": "table",
    "AWS::Logs::LogGroup": "log group",
    "AWS::KMS::Key": _KEY,
}
_PART = "AWS::S3::BucketPolicy"  # a part of its bucket, which is named
_PATIENCE_IN_SECONDS, _LOOK_IN_SECONDS = 900, 5
_KEPT = ("Retain", "RetainExceptOnCreate")


def run(name: str, root: Path, region: str | None, *, sure: bool) -> int:
    """Destroy the stack of this name.

    root: the project, whose CDK CLI is used; the deployment's file is not needed. sure: do not ask. Returns the exit
    status: 0 if the stack is gone and nothing bills by the hour, 1 if not, 2 if nothing could be asked, 130 after
    Ctrl-C.
    """
    try:
        return asking_aws(lambda: _destroy(name, root, region, sure=sure))
    except (CdkCliError, NoTerminalError) as error:
        print(error, file=sys.stderr)
        return 2


def _destroy(name: str, root: Path, region: str | None, *, sure: bool) -> int:
    clients = clients_in(region)
    stack, cli = find_stack(name, clients), find_cli(root)
    if stack.service:
        said = f"{name} is a part of your stack {stack.stack_name}; remove it from your app, and deploy."
        print(said, file=sys.stderr)
        return 2
    if stack.status.endswith("IN_PROGRESS") and stack.status != "REVIEW_IN_PROGRESS":
        print(f"The stack {name} is {stack.status}; wait until CloudFormation is done.", file=sys.stderr)
        return 1
    if users := list(users_of_endpoint(stack)):
        print(f"{name} is in use by {', '.join(users)}; destroy what stands on it first.", file=sys.stderr)
        return 1
    print(*_announced(stack), sep="\n")
    if not sure and ask_on_terminal(f"Type {name} to destroy it: ", to="destroy", done="destroyed") != name:
        print(f"The answer is not {name}; nothing was destroyed.", file=sys.stderr)
        return 1
    with TemporaryDirectory() as folder:
        _write_app(stack, root, folder)
        try:
            _let_copies_settle(stack)
            print(f"\ncdk destroy {name}", flush=True)
            status = cli.run("destroy", name, "--force", "--app", folder, region=stack.region)
        except KeyboardInterrupt:
            said = f"Stopped waiting. CloudFormation goes on with the removal: `slipway status {name}` shows it."
            print(f"\n{said}", file=sys.stderr)
            return 130
    if status or existing_stack(name, clients):
        explain(name, clients)
        print(f"{name} is not destroyed; mend it, then run `slipway destroy {name}` again.", file=sys.stderr)
        return 1
    return 1 if tell_what_is_left(name, clients) else 0


def _let_copies_settle(stack: DeployedStack) -> None:
    """Wait while copies of the stack's component start or end: SageMaker deletes none then, so the removal would fail.

    After a quarter of an hour the removal is tried anyway.
    """
    patience, told = time.monotonic() + _PATIENCE_IN_SECONDS, False
    while is_changing(stack.unread.component) and time.monotonic() < patience:
        if not told:
            said = f"waiting until the copies of {stack.component_name} have started or ended; SageMaker deletes"
            print(f"\n{said} no component before", flush=True)
            told = True
        time.sleep(_LOOK_IN_SECONDS)


def _announced(stack: DeployedStack) -> list[str]:
    """Tell what goes, what stays, and what each costs."""
    kept = _kept(stack)
    count = sum(map(len, stack.resources.values())) - len(kept)
    lines = [f"{stack.name}: {stack.serves}, in {stack.region} of account {stack.account}"]
    try:
        state = state_of(stack)
        what = "the endpoint" if stack.label.mode == SHARED_ENDPOINT else "the model, its API"
        lines.append(f"  goes   {what} and {count} resources in all; {hosting_of(stack).cost(state)}")
        if isinstance(jobs := state["open_jobs"], int) and jobs:  # else the table is gone, or the stack has none
            lines.append(f"  lost   {jobs:,} open jobs, which nobody will answer")
    except UnknownStackError:  # not even its hosting mode is known
        lines.append(f"  goes   {count} resources")
    if kept:
        lines += [f"  stays  {resource}" for resource in kept]
        has_key = any(each.startswith(_KEY) for each in kept)
        bill = "storage, and for each KMS key 1 USD a month" if has_key else "storage alone"
        lines.append(f"         They bill for {bill}; `slipway purge {stack.name}` removes them afterwards.")
    return lines


def _kept(stack: DeployedStack) -> list[str]:
    """Return kind and name of each resource that a destroy retains, as the stack's template says."""
    if not stack.resources:  # its first change set was never executed, so it has no template
        return []
    resources = deployed_template(stack.name, stack.clients).template["Resources"]
    retained = {name for name, each in resources.items() if each.get("DeletionPolicy") in _KEPT}
    pages = stack.clients("cloudformation").get_paginator("list_stack_resources").paginate(StackName=stack.name)
    return sorted(
        f"{_KINDS.get(each['ResourceType'], each['ResourceType'])} {each['PhysicalResourceId']}"
        for page in pages
        for each in page["StackResourceSummaries"]
        if each["LogicalResourceId"] in retained and each.get("PhysicalResourceId") and each["ResourceType"] != _PART
    )


def _write_app(stack: DeployedStack, root: Path, folder: str) -> None:
    """Write a cloud assembly with an empty stack of this name, account and region.

    `cdk destroy` needs no more, so a deployment whose file is gone or refused can be destroyed, too.
    """
    os.environ["PATH"] = search_path()
    demand_cdk()
    import aws_cdk as cdk  # late: slow to import

    context = settings_of(root).get("context", {})  # it may name another bootstrap
    app = cdk.App(outdir=folder, context=context, builtin_cloud_formation_validation=False)
    cdk.Stack(app, stack.name, env=cdk.Environment(account=stack.account, region=stack.region))
    app.synth()
