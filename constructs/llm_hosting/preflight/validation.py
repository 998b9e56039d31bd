"""Validates a deployment file: all problems of shape, type and rules at once."""

import difflib
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..catalog.laws import demand_own_rows
from ..deployment.file import DeploymentError, parse
from ..deployment.finding import Finding
from ..deployment.lock import ModelLock
from ..deployment.lock_file import locked
from ..deployment.model import Deployment
from ..deployment.nearest import nearest
from ..deployment.overlay import Overlay
from ..deployment.paths import spoken_name
from ..deployment.tenants import in_region, tenants
from ..project import project_folder
from ..resolution import Resolution, resolve
from .rules import (  # noqa: F401  (registers the rules)
    adapters,
    api,
    budget,
    driver,
    environment,
    facts,
    front_door,
    governance,
    hardware,
    hosting,
    huggingface,
    idle,
    image,
    images,
    machines,
    memory,
    model,
    network,
    quantization,
    requirements,
    rollout,
    shared_endpoint,
    task,
    timing,
    tokenizer,
    tokens,
)
from .rules.engine import effect, model_type, option_values, options, parsers, remote_code  # noqa: F401  (as above)
from .rules.own_rules import all_rules
from .rules.rule import FORMER, RULES, Rule, error, warning
from .rules.suitable_type import with_type, without_type


@dataclass(frozen=True)
class Validation:
    """The outcome of the validation of a deployment file.

    resolution: None = the file is refused before any rule, or holds settings that no rule can judge.
    overlay: None = the file is not an overlay, or can't be read as one.
    """

    resolution: Resolution | None
    findings: list[Finding]
    overlay: Overlay | None = None

    @property
    def errors(self) -> list[Finding]:
        """The findings that refuse the deployment."""
        return [finding for finding in self.findings if finding.level == "error"]


def validate(resolution: Resolution) -> list[Finding]:
    """Return every finding of every rule, except silenced warnings."""
    silenced = resolution.deployment.preflight.silenced
    spoken = [rule for rule in all_rules() if rule.level == "error" or rule.id not in silenced]
    return with_type(resolution, _findings(resolution, spoken))


def errors_of_type(resolution: Resolution) -> list[Finding]:
    """Return the findings that refuse the deployment, without suggestions of another type."""
    return without_type(_findings(resolution, [rule for rule in all_rules() if rule.level == "error"]))


def _findings(resolution: Resolution, rules: Sequence[Rule[Resolution]]) -> list[Finding]:
    # The types of a pool often break a law in the same words.
    return list(dict.fromkeys(finding for rule in rules for finding in rule.findings(resolution)))


@error
def errors_are_not_silenced(resolution: Resolution) -> Iterator[Finding]:
    """`preflight.silenced` takes warnings only."""
    for rule in all_rules():
        if rule.level == "error" and rule.id in resolution.deployment.preflight.silenced.keys() - FORMER:
            yield Finding(
                f"preflight.silenced.{rule.id}",
                "is an error, which can't be silenced",
                "correct the setting that it names",
            )


@warning
def silenced_rules_exist(resolution: Resolution) -> Iterator[Finding]:
    """An id that no rule has silences nothing."""
    known = {rule.id for rule in all_rules()}
    for name in sorted(resolution.deployment.preflight.silenced.keys() - known - FORMER):
        near = difflib.get_close_matches(name, known, n=1, cutoff=0.8)
        yield Finding(f"preflight.silenced.{name}", "is not a rule", f"use {near[0]}" if near else "remove it")


def validate_file(
    path: Path, handlers: Collection[str], region: str | None = None, lock: ModelLock | None = None
) -> Validation:
    """Read a deployment file, resolve it once, run every rule once.

    handlers: the names that `serving.handler` may have.
    region: the region if the file names none.
    lock: used instead of the lock file.
    Raises CatalogError or RulesError for a file of the project that can't be used.
    """
    deployment, findings, overlay = parse(path)
    if deployment and lock:
        deployment = deployment.with_lock(lock)
    elif deployment:
        deployment, problems = locked(deployment, path)
        findings += problems
    if deployment and region:
        deployment = deployment.model_copy(update={"region": deployment.region or region})
    if deployment and deployment.shared:
        others = tenants(deployment.shared.name, project_folder(str(path)) / "deployments", beside=path)
        deployment = deployment.on(deployment.shared, in_region(others, deployment.region))
    if deployment is None:
        return Validation(None, findings)
    resolution, found = _judged(deployment, findings, handlers)
    return Validation(None if findings else resolution, overlay.located(found) if overlay else found, overlay)


def load(path: Path, handlers: Collection[str], region: str | None = None) -> tuple[Resolution, list[Finding]]:
    """Return the resolution of a deployment file and its findings, with its name in their commands.

    region: the region if the file names none. Raises DeploymentError with all problems.
    """
    validation = validate_file(path, handlers, region)
    return _accepted(path, spoken_name(path), validation)


def accept(deployment: Deployment, name: str, handlers: Collection[str]) -> tuple[Resolution, list[Finding]]:
    """Return the resolution of a deployment without a file, and its findings. Raises DeploymentError.

    name: the name of the deployment in the error and in the commands of its findings.
    """
    findings: list[Finding] = []
    resolution, found = _judged(deployment, findings, handlers)
    return _accepted(name, name, Validation(None if findings else resolution, found))


def _judged(
    deployment: Deployment, findings: list[Finding], handlers: Collection[str]
) -> tuple[Resolution, list[Finding]]:
    """Return the resolution and all findings. findings: those so far; a wrong handler is added to them."""
    demand_own_rows()
    own = deployment.serving.handler
    if own and own not in handlers:
        problem = f"{own!r} is not a folder with a model.py"
        findings.append(Finding("serving.handler", problem, f"use {nearest(own, handlers)}"))
    resolution = resolve(deployment)
    judged = validate(resolution)
    if findings:
        # A refused setting has its default here, so warnings may be wrong, and so are errors about this setting.
        judged = [each for each in judged if each.level == "error" and not _is_below(each, findings)]
    return resolution, [*findings, *judged]


def _accepted(subject: Path | str, name: str, validation: Validation) -> tuple[Resolution, list[Finding]]:
    named = [each.named(name) for each in validation.findings]
    if validation.errors or validation.resolution is None:
        problems = [f"{each.place}: {each.message}" for each in named if each.level == "error"]
        raise DeploymentError(subject, problems)
    return validation.resolution, named


def _is_below(finding: Finding, refused: Collection[Finding]) -> bool:
    return any(f"{finding.field}.".startswith(f"{each.field}.") for each in refused)


# Findings and the reference keep one order, whichever module was imported first.
RULES.sort(key=lambda rule: (rule.law.__module__, rule.law.__code__.co_firstlineno))
