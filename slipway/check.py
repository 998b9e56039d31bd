"""`python -m slipway check`: will it fit, start in time and be accepted by AWS? Said before any money is spent."""

import json
import os
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from llm_hosting.archive import handler_folders
from llm_hosting.deployment import Deployment
from llm_hosting.deployment_paths import UnknownDeploymentError, find
from llm_hosting.preflight.check import examine
from llm_hosting.preflight.report import Report, assess, unreadable
from slipway.account.account import Account, is_used


@dataclass(frozen=True)
class Judgement:
    """The report on one file; deployment: None = the file could not be read as one."""

    report: Report
    deployment: Deployment | None


@dataclass(frozen=True)
class Options:
    """account: ask AWS too, in `region` where a deployment names none (None = as boto3 finds it).

    strict: warnings and unknowns count as refusals. verbose: list all rules.
    """

    account: bool = False
    region: str | None = None
    as_json: bool = False
    strict: bool = False
    verbose: bool = False


def run(names: Sequence[str], root: Path, options: Options) -> int:
    """Print a report on each deployment.

    root: the folder with `deployments/` and `model_src/`. Returns the exit status: 0 when all are ready, 1 when one is
    refused, 2 for a name or a region that can't be meant.
    """
    try:
        paths = [find(name, root / "deployments") for name in names]
    except UnknownDeploymentError as error:
        print(error, file=sys.stderr)
        return 2
    handlers = handler_folders(root / "model_src")
    judgements = [judge(path, handlers) for path in paths]
    for each in judgements:
        own = each.deployment.region if each.deployment else None
        if options.account and options.region and own and own != options.region:
            print(
                f"--region {options.region}: {each.report.name} is made for {own}; leave --region out.", file=sys.stderr
            )
            return 2
    if options.account:
        judgements = [_with_account(each, options.region) for each in judgements]
    reports = [each.report for each in judgements]
    if options.as_json:
        content = [_as_json(report) for report in reports]
        said = json.dumps(content if len(names) > 1 else content[0], indent=2)
    else:
        from slipway.report import readable_report  # rich takes its time to import

        said = readable_report.page(judgements, verbose=options.verbose)
    try:
        print(said, flush=True)
    except BrokenPipeError:  # whoever reads has read enough: `| head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 1 if any(_is_refused(report, strict=options.strict) for report in reports) else 0


def _with_account(judgement: Judgement, region: str | None) -> Judgement:
    if judgement.deployment is None:
        return judgement
    from slipway.account.account_findings import add_account_findings  # boto3 takes its time to import
    from slipway.aws_clients import clients_in

    account = Account(clients_in(judgement.deployment.region or region))
    return replace(judgement, report=add_account_findings(judgement.deployment, judgement.report, account))


def judge(path: Path, handlers: Sequence[str]) -> Judgement:
    """Every problem of a file: of its shape, and of every rule that can still be judged."""
    deployment, findings = examine(path, handlers)
    return judge_deployment(path.stem, deployment) if deployment else Judgement(unreadable(path.stem, findings), None)


def judge_deployment(name: str, deployment: Deployment) -> Judgement:
    """The report on a file without a problem of its own."""
    report = assess(name, deployment)
    not_checked = [line for line in report.not_checked if is_used(line.partition(":")[0], deployment)]
    return Judgement(replace(report, not_checked=not_checked), deployment)


def _as_json(report: Report) -> dict[str, Any]:
    return asdict(report) | {"findings": [{**asdict(finding), "fix": finding.fix} for finding in report.findings]}


def _is_refused(report: Report, *, strict: bool) -> bool:
    doubts = strict and any(finding.level in ("warning", "unknown") for finding in report.findings)
    return report.verdict == "refused" or doubts
