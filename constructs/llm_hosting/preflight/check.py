"""Reads a deployment file and holds it against every rule: all problems at once."""

from pathlib import Path

from ..deployment import Deployment
from ..deployment_file import DeploymentError, Problem, parse
from . import api_rules, hosting_rules, jobs_rules, serving_rules  # noqa: F401  (registers the rules)
from .finding import RULES, Finding


def check(deployment: Deployment) -> list[Finding]:
    """Every finding of every rule."""
    return [finding for rule in RULES for finding in rule.findings(deployment)]


def load(path: Path) -> tuple[Deployment, list[Finding]]:
    """The deployment in that file and its warnings.

    Raises DeploymentError with all problems: of shape, of type and of every rule that can still be judged.
    """
    deployment, problems = parse(path)
    findings = check(deployment) if deployment else []
    refused = tuple(problem.field for problem in problems)
    for finding in findings:
        known = any(finding.field == field or finding.field.startswith(f"{field}.") for field in refused)
        if finding.level == "error" and not known:
            problems.append(Problem(finding.field, finding.message))
    if problems or deployment is None:
        raise DeploymentError(path, [f"{problem.field}: {problem.message}" for problem in problems])
    return deployment, findings
