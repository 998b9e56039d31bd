"""Judges a deployment before any money is spent: will it fit, start in time and be accepted by AWS?"""

import json
import shlex
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from llm_hosting.deployment.endpoint_file import find_endpoint
from llm_hosting.deployment.file import DeploymentError, sets_over_base
from llm_hosting.deployment.finding import Finding
from llm_hosting.deployment.lock import ModelLock
from llm_hosting.deployment.paths import UnknownDeploymentError, stack_name
from llm_hosting.preflight.report import Report, build_report, unreadable
from llm_hosting.preflight.rules.model import model_is_known
from llm_hosting.preflight.rules.suitable_type import NO_SECRET_YET
from llm_hosting.preflight.validation import validate_file
from llm_hosting.sources import handler_names
from slipway.account.account import Account, is_used
from slipway.checking import shared_endpoint
from slipway.checking.check_result import CheckResult
from slipway.checking.subject import UnaskedError, subject
from slipway.project.contents import foreign_schema
from slipway.shared.output import reader_may_leave


class OtherRegionError(Exception):
    """`--region` contradicts the deployment file; the message is one sentence."""


@dataclass(frozen=True)
class CheckOptions:
    """How to check, and what to print.

    region: for deployments that name none; None = any region, and boto3's default for AWS. account: also ask AWS.
    strict: warnings and unknowns count as refusals. verbose: list all rules. hub: judge by the model's files as they
    are now, instead of the lock or the catalog. on: instance types to use instead of the file's; required for a model
    without a file, for which `engine` may name an engine.
    """

    account: bool = False
    hub: bool = False
    on: Sequence[str] = ()
    engine: str | None = None
    region: str | None = None
    as_json: bool = False
    strict: bool = False
    verbose: bool = False


def run(names: Sequence[str], root: Path, options: CheckOptions) -> int:
    """Print a report on each deployment.

    root: the folder with `deployments/` and `model_src/`. Returns the exit status: 0 if all are ready, 1 if one is
    refused, 2 for an unknown name, for a region that contradicts the file, for a model that nobody knows, or if AWS
    could not be asked.
    """
    if endpoints := [file for name in names if (file := find_endpoint(name, root))]:
        if len(endpoints) < len(names):
            print("Check endpoints and deployments one after the other: their reports differ.", file=sys.stderr)
            return 2
        statuses = [
            shared_endpoint.run(each, root, as_json=options.as_json, strict=options.strict) for each in endpoints
        ]
        return max(statuses)
    try:
        results = judge(names, root, options)
    except (UnknownDeploymentError, DeploymentError, OtherRegionError, UnaskedError) as error:
        print(error, file=sys.stderr)
        return 2
    reports = [each.report for each in results]
    if options.as_json:
        content = [_as_json(report) for report in reports]
        said = json.dumps(content if len(names) > 1 else content[0], indent=2)
    else:
        from slipway.checking import readable_report  # importing rich is slow

        said = readable_report.page(results, verbose=options.verbose)
    with reader_may_leave():
        print(said)
    if schema := foreign_schema(root):
        print(f"{schema} is that of another version of Slipway: delete it, then run `slipway init`.", file=sys.stderr)
    if any(_is_refused(report, strict=options.strict) for report in reports):
        return 1
    return 2 if any(_is_open(report) for report in reports) else 0


def judge(names: Sequence[str], root: Path, options: CheckOptions) -> list[CheckResult]:
    """Check each deployment, and ask AWS if `options` says so.

    Raises UnknownDeploymentError, DeploymentError, OtherRegionError, UnaskedError.
    """
    handlers = handler_names(root)
    results = [_checked(name, root, handlers, options) for name in names]
    for each in results:
        own = each.deployment.region if each.deployment else None
        if options.region and own and own != options.region:
            raise OtherRegionError(
                f"--region {options.region}: {each.report.name} is made for {own}; leave --region out."
            )
    if options.account:
        results = [_with_account(each) for each in results]
    return [each.named for each in results]


def _checked(name: str, root: Path, handlers: Sequence[str], options: CheckOptions) -> CheckResult:
    with TemporaryDirectory() as folder:  # for a deployment without a file of its own
        about = subject(name, root, Path(folder), types=options.on, engine=options.engine, hub=options.hub)
        result = check(about.path, handlers, options.region, about.lock, is_written=about.is_written)
    report = replace(result.report, facts=f"{result.report.facts}{about.note}")
    return replace(result, report=report, command_name=shlex.quote(name) if about.is_written else "")


def _with_account(result: CheckResult) -> CheckResult:
    if result.deployment is None:
        return result
    from slipway.account.findings import add_account_findings  # importing boto3 is slow
    from slipway.shared.aws_clients import clients_in

    account = Account(clients_in(result.deployment.region))
    return replace(result, report=add_account_findings(result.deployment, result.report, account))


def check(
    path: Path,
    handlers: Sequence[str],
    region: str | None = None,
    lock: ModelLock | None = None,
    *,
    is_written: bool = True,
) -> CheckResult:
    """Find every problem of a file: of its shape, and of every rule that can still be judged.

    region: used if the file names none. lock: used instead of the lock file. is_written: as in `Subject`.
    """
    name, validation = stack_name(path), validate_file(path, handlers, region, lock)
    if validation.resolution is None:
        return CheckResult(unreadable(name, validation.findings), None)
    deployment = validation.resolution.deployment
    findings = validation.findings if is_written else [_of_model_alone(each) for each in validation.findings]
    report = build_report(name, validation.resolution, findings)
    not_checked = [line for line in report.not_checked if is_used(line.partition(":")[0], deployment)]
    report = replace(report, not_checked=not_checked)
    if overlay := validation.overlay:
        refused = {finding.field for finding in validation.errors}
        sets = [each for each in sets_over_base(overlay, deployment) if each.field not in refused]
        report = replace(report, extends=overlay.base.stem, sets=sets)
    return CheckResult(report, validation.resolution)


def _of_model_alone(finding: Finding) -> Finding:
    """Turn a missing token's refusal into a warning: only a deployment file could name the secret with the token."""
    return replace(finding, level="warning") if finding.rule == NO_SECRET_YET else finding


def _as_json(report: Report) -> dict[str, Any]:
    return asdict(report) | {
        "findings": [{**asdict(finding), "message": finding.message} for finding in report.findings]
    }


def _is_refused(report: Report, *, strict: bool) -> bool:
    doubts = strict and any(finding.level in ("warning", "unknown") for finding in report.findings)
    return report.verdict == "refused" or doubts


def _is_open(report: Report) -> bool:
    """Whether a question is open that decides the verdict, and that the file does not accept."""
    return report.verdict == "not asked" or (
        report.verdict == "not checked" and model_is_known.id not in report.silenced
    )
