"""Deploys: asks doctor's questions, shows what will happen and its price, asks, runs the CDK CLI, then tests."""

import sys
from collections.abc import Sequence
from pathlib import Path

from llm_hosting.deployment.endpoint_file import find_endpoint
from llm_hosting.deployment.file import DeploymentError
from llm_hosting.deployment.paths import UnknownDeploymentError
from slipway.checking.check import CheckOptions, OtherRegionError, judge
from slipway.checking.readable_report import page
from slipway.checking.subject import UnaskedError
from slipway.deploying import shared_endpoint
from slipway.deploying.cdk_cli import CdkCli, CdkCliError, find_cli
from slipway.deploying.failure import explain
from slipway.deploying.next_steps import next_steps
from slipway.deploying.plan import BusyStackError, Plan, Target, plan, refusals
from slipway.operations import verify
from slipway.shared.aws_clients import region_option
from slipway.shared.steps import Steps
from slipway.shared.terminal import NoTerminalError, ask_on_terminal
from slipway.stack.deployed_stack import asking_aws, find_stack
from slipway.templates import diff

_YES = ("y", "yes")


def run(names: Sequence[str], root: Path, region: str | None, *, sure: bool, timeout: int) -> int:
    """Deploy these deployments, and test them.

    names: names or paths of deployment files. root: the project. sure: do not ask. timeout: seconds for each job of the
    test. Returns the exit status: 0 if all work, 1 if something is refused, declined or fails, 2 if nothing could be
    asked, 130 after Ctrl-C.
    """
    try:
        return asking_aws(lambda: _deploy(names, root, region, sure=sure, timeout=timeout))
    except BusyStackError as error:
        print(error, file=sys.stderr)
        return 1
    except (
        CdkCliError,
        DeploymentError,
        NoTerminalError,
        OtherRegionError,
        UnaskedError,
        UnknownDeploymentError,
    ) as error:
        print(error, file=sys.stderr)
        return 2


def _deploy(names: Sequence[str], root: Path, region: str | None, *, sure: bool, timeout: int) -> int:
    if endpoints := [file for name in names if (file := find_endpoint(name, root))]:
        if len(names) > 1:
            print(f"Deploy {endpoints[0].parent.name}/{endpoints[0].stem} alone, before the others.", file=sys.stderr)
            return 2
        return shared_endpoint.deploy(endpoints[0], root, region, sure=sure)
    cli = find_cli(root)
    steps = Steps()
    try:
        steps("asking AWS whether account and region are ready")
        results = judge(names, root, CheckOptions(account=True, region=region))
    finally:
        steps.end()
    if refused := [each for each in results if refusals(each)]:
        print(page(refused, verbose=False))
        print("Nothing was deployed: follow the fixes above, then deploy again.", file=sys.stderr)
        return 1
    planned = plan(names, results, root)
    for target in planned.targets:
        if target.is_update:
            if status := diff.run(target.name, root, diff.DiffOptions("stack", target.region)):
                print("Nothing was deployed.", file=sys.stderr)
                return status
            print()
    print(planned.page)
    if not sure and ask_on_terminal("\nDeploy? [y/N] ", to="deploy", done="deployed").lower() not in _YES:
        print("Nothing was deployed.", file=sys.stderr)
        return 1
    return _carry_out(planned, cli) or _test(planned.targets, timeout)


def _carry_out(planned: Plan, cli: CdkCli) -> int:
    """Run each step of the plan. Returns the exit status of the first that fails."""
    for step in planned.steps:
        print(f"\n{step.command}", flush=True)
        try:
            status = cli.run(*step.arguments, region=step.region)
        except KeyboardInterrupt:
            print("\nStopped waiting. CloudFormation goes on with what it has begun.")
            print(*(line for target in planned.targets for line in _after_ctrl_c(target)), sep="\n")
            return 130
        if status:
            for target in planned.targets:
                explain(target.stack, target.clients, before=target.deployed)
            print(f"`{step.command}` failed; mend it, then deploy again.", file=sys.stderr)
            return 1
    return 0


def _after_ctrl_c(target: Target) -> list[str]:
    """Return the lines for a shell that show the stack and, if this deploy made it, remove it."""
    chosen = region_option(target.region)
    show = f"slipway status {target.stack}{chosen}"
    if target.is_update:
        return [f"{show}  # when it is done, deploy again"]
    return [show, f"slipway destroy {target.stack}{chosen}  # removes it"]


def _test(targets: Sequence[Target], timeout: int) -> int:
    """Verify each stack, and print what to do next. Returns the worst exit status."""
    worst = 0
    for target in targets:
        print(f"\nTesting {target.stack}", flush=True)
        worst = max(worst, verify.run(target.stack, target.region, timeout=timeout, as_json=False))
        print("", *next_steps(find_stack(target.stack, target.clients), target.deployment), sep="\n", flush=True)
    return worst
