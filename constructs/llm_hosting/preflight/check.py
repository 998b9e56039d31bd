"""Read a deployment file and hold it against every rule: all problems at once."""

from pathlib import Path

from ..deployment import Deployment, DeploymentError, parse_deployment
from .rules import RULES, Finding


def check(deployment: Deployment) -> list[Finding]:
    """Every finding of every rule."""
    return [finding for rule in RULES for finding in rule(deployment)]


def load(path: Path) -> tuple[Deployment, list[Finding]]:
    """The deployment in that file and its warnings.

    Raises DeploymentError with all problems: of shape, of type and of every rule that can still be judged.
    """
    deployment, problems = parse_deployment(path)
    findings = check(deployment) if deployment else []
    for finding in findings:
        if finding.level == "error":
            problems.setdefault(finding.field, finding.message)
    if problems or deployment is None:
        raise DeploymentError(path, [f"{field}: {message}" for field, message in problems.items()])
    return deployment, findings
