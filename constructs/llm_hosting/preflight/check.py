"""Reads a deployment file and holds it against every rule: all problems at once."""

from collections.abc import Collection, Iterator
from pathlib import Path

from ..deployment import Deployment
from ..deployment_file import DeploymentError, Problem, parse
from . import (  # noqa: F401  (registers the rules)
    adapter_rules,
    api_rules,
    degree_rules,
    disk_rules,
    djl_rules,
    environment_rules,
    hardware_rules,
    hosting_rules,
    image_rules,
    jobs_rules,
    kernel_rules,
    known_failure_rules,
    memory_rules,
    model_rules,
    neuron_rules,
    option_rules,
    quantization_rules,
    start_rules,
    tgi_rules,
    toolkit_rules,
    vllm_rules,
    weights_rules,
)
from .finding import RULES, Finding, error
from .nearest import nearest

SCHEMA = "schema"  # stands for a rule's id where the file itself is wrong


def check(deployment: Deployment) -> list[Finding]:
    """Every finding of every rule, without the warnings that the deployment silences."""
    silenced = deployment.preflight.silenced
    return [
        finding
        for rule in RULES
        if rule.level == "error" or rule.id not in silenced
        for finding in rule.findings(deployment)
    ]


@error
def silenced_rules_are_warnings(deployment: Deployment) -> Iterator[tuple[str, str]]:
    """An error can't be silenced, and a rule that does not exist has nothing to say."""
    levels = {rule.id: rule.level for rule in RULES}
    for name in deployment.preflight.silenced:
        if name not in levels:
            yield f"preflight.silenced.{name}", f"is no rule; use {nearest(name, levels)}."
        elif levels[name] == "error":
            yield f"preflight.silenced.{name}", "is an error, which can't be silenced; mend what it names."


def examine(path: Path, handlers: Collection[str]) -> tuple[Deployment | None, list[Finding]]:
    """The deployment in that file, None if it is none, and all findings: of shape, of type and of every rule that can
    still be judged.

    handlers: the names that `serving.handler` may have.
    """
    deployment, problems = parse(path)
    own = deployment.serving.handler if deployment else None
    if own and own not in handlers:
        message = f"{own!r} is no folder with a model.py; use {nearest(own, handlers)}."
        problems.append(Problem("serving.handler", message))
    findings = check(deployment) if deployment else []
    if not problems:
        return deployment, findings
    # What was refused stands for something else now, and so do the rules that look at it.
    judged = [each for each in findings if each.level == "error" and not _is_below(each, problems)]
    return None, [Finding(SCHEMA, "error", problem.field, problem.message) for problem in problems] + judged


def load(path: Path, handlers: Collection[str]) -> tuple[Deployment, list[Finding]]:
    """The deployment in that file, and what is to be said of it.

    Raises DeploymentError with all problems.
    """
    deployment, findings = examine(path, handlers)
    errors = [f"{each.field}: {each.message}" for each in findings if each.level == "error"]
    if errors or deployment is None:
        raise DeploymentError(path, errors)
    return deployment, findings


def _is_below(finding: Finding, problems: Collection[Problem]) -> bool:
    return any(f"{finding.field}.".startswith(f"{problem.field}.") for problem in problems)
