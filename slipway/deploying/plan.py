"""What a deploy will do: the preparations that are missing, then the stacks."""

import os
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from llm_hosting import ACCOUNT_SETTINGS
from llm_hosting.deployment.finding import Finding
from llm_hosting.deployment.model import Deployment
from llm_hosting.deployment.paths import find, stack_name
from llm_hosting.preflight.report import Report
from llm_hosting.resolution import Resolution
from llm_hosting.resolution.description import cost
from slipway.checking.check_result import CheckResult
from slipway.shared.aws_clients import Clients, clients_in, local_cloud
from slipway.stack.deployed_stack import DeployedStack, existing_stack

_BOOTSTRAP, _SETTINGS = "bootstrap-version", "cloudwatch-role"  # doctor's questions about the two preparations
_IMAGE = "image-in-registry"
NOT_MADE = ("REVIEW_IN_PROGRESS", "ROLLBACK_COMPLETE", "ROLLBACK_FAILED")  # the CDK replaces such a stack


class BusyStackError(Exception):
    """CloudFormation is at work on the stack; the message is one sentence."""


@dataclass(frozen=True)
class Target:
    """A deployment and its stack.

    name: as the command line names it. in_context: as the CDK's context names it, from the project's folder. deployed:
    the stack as it is; None = there is none.
    """

    name: str
    in_context: str
    stack: str
    report: Report
    resolution: Resolution
    clients: Clients
    deployed: DeployedStack | None

    @property
    def deployment(self) -> Deployment:
        return self.resolution.deployment

    @property
    def region(self) -> str:
        return str(self.clients("sts").meta.region_name)

    @property
    def is_update(self) -> bool:
        return self.deployed is not None and self.deployed.status not in NOT_MADE

    @property
    def words(self) -> list[str]:
        """What happens to the stack, its price, and what doctor warns of."""
        verb, is_local = "update" if self.is_update else "create", local_cloud(self.clients) is not None
        warnings = [each for each in self.report.findings if each.level in ("warning", "unknown")]
        return [
            f"{verb} {self.stack} ({self.deployment.model.id}): {cost(self.resolution, is_local=is_local)}",
            *(f"   {each.level}: {each.place}: {each.message}" for each in warnings),
        ]


@dataclass(frozen=True)
class Step:
    """One run of the CDK CLI. words: lines that say what it does."""

    words: list[str]
    arguments: tuple[str, ...]
    region: str

    @property
    def command(self) -> str:
        return f"cdk {shlex.join(self.arguments)}"


@dataclass(frozen=True)
class Plan:
    """The runs of the CDK CLI that deploy the targets."""

    targets: list[Target]
    steps: list[Step]

    @property
    def page(self) -> str:
        """The plan for the terminal."""
        lines = [f"Account {self.targets[0].report.account}", "Slipway will"]
        for number, step in enumerate(self.steps, 1):
            lines += [f"{f'{number}.' if index == 0 else '':>4} {line}" for index, line in enumerate(step.words)]
        return "\n".join([*lines, "and then call each model to test it."])


def refusals(result: CheckResult) -> list[Finding]:
    """Return the errors that a deploy does not mend itself. The local cloud pulls no image, so it needs none."""
    mended = {_BOOTSTRAP, _SETTINGS}
    if result.deployment and local_cloud(clients_in(result.deployment.region)):
        mended.add(_IMAGE)
    return [each for each in result.report.findings if each.level == "error" and each.rule not in mended]


def plan(names: Sequence[str], results: Sequence[CheckResult], root: Path) -> Plan:
    """Plan the deploy of these names, whose results hold no refusal. Raises BusyStackError, boto3's errors."""
    targets = [_target(name, result, root) for name, result in zip(names, results, strict=True)]
    steps = []
    for region in dict.fromkeys(target.region for target in targets):
        missing = {each.rule for target in targets if target.region == region for each in target.report.findings}
        account = targets[0].clients("sts").get_caller_identity()["Account"]
        if _BOOTSTRAP in missing:
            steps.append(bootstrap_step(account, region))
        if _SETTINGS in missing:
            what = f"deploy {ACCOUNT_SETTINGS} in {region}, once: the role for API Gateway's logs, free"
            # Its role is limited and tagged as the deployment says that stands beside it.
            governed = [each for each in targets if each.region == region and each.deployment.security.governs]
            contexts = [ACCOUNT_SETTINGS, *(each.in_context for each in governed[:1])]
            steps.append(deploy_step([what], [ACCOUNT_SETTINGS], contexts, region))
    anywhere = [target.region for target in targets if target.deployment.region is None]
    stacks, contexts = [target.stack for target in targets], [target.in_context for target in targets]
    words = [line for target in targets for line in target.words]
    return Plan(targets, [*steps, deploy_step(words, stacks, contexts, [*anywhere, targets[0].region][0])])


def _target(name: str, result: CheckResult, root: Path) -> Target:
    assert result.resolution
    path = find(name, root / "deployments")
    in_context = name if path == root / "deployments" / f"{name}.yaml" else os.path.abspath(path)
    clients = clients_in(result.resolution.deployment.region)
    stack = existing_stack(stack_name(path), clients)
    if stack and stack.status.endswith("IN_PROGRESS") and stack.status not in NOT_MADE:
        raise BusyStackError(f"The stack {stack.name} is {stack.status}; wait until CloudFormation is done.")
    return Target(name, in_context, stack_name(path), result.report, result.resolution, clients, stack)


def bootstrap_step(account: str, region: str) -> Step:
    """Return the run that prepares an account and region for the CDK."""
    what = f"bootstrap account {account} in {region}, once: a bucket and roles for the CDK, for a few cents"
    return Step([what], ("bootstrap", f"aws://{account}/{region}", "-c", f"deployment={ACCOUNT_SETTINGS}"), region)


def deploy_step(words: list[str], stacks: list[str], contexts: list[str], region: str) -> Step:
    """Return the run that deploys these stacks. contexts: their names in the CDK's context."""
    # The question before the deploy stands for the CDK's own. A folder of its own lets two deploys run side by side.
    options = ("--require-approval", "never", "--output", f"cdk.out/deploy/{'-'.join(stacks)}")
    together = ("--concurrency", str(len(stacks))) if len(stacks) > 1 else ()
    return Step(words, ("deploy", *stacks, "-c", f"deployment={','.join(contexts)}", *options, *together), region)
