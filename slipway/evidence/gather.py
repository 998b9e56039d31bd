"""Gathers the evidence of a template: of a deployment, by one synth under all packs of cdk-nag, or of a file."""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from llm_hosting.installed_version import installed_version
from slipway.changes.template.reading import read_template
from slipway.changes.template.resources import resources_of
from slipway.changes.template.synthesis import synthesize
from slipway.evidence.data import WITHOUT_DATA, data_of, unknown_in
from slipway.evidence.doors import ways_in
from slipway.evidence.evidence import Evidence
from slipway.evidence.findings import findings_of
from slipway.evidence.roles import roles_of
from slipway.evidence.ways_out import ways_out

_EVERY_REGION = "<region>"


def of_deployment(name: str, project: Path) -> Evidence:
    """Synthesize a deployment, or another stack of the app, and return its evidence. Raises NoTemplateError."""
    made = synthesize(name, project, standards=True)
    return evidence_of(made.stack, made.template, made.region, made.report)


def of_file(path: Path) -> Evidence:
    """Return the evidence of a template's file, for the default values of its parameters. Raises NoTemplateError."""
    return evidence_of(path.name.partition(".")[0], read_template(path), None, None)


def evidence_of(name: str, template: dict[str, Any], region: str | None, report: Mapping[str, Any] | None) -> Evidence:
    """Return the evidence of a template. region: None = of every region. report: cdk-nag's; None = there is none."""
    resources = resources_of(template, {}, region or _EVERY_REGION)
    roles = roles_of(resources)
    other = Counter(each.type for each in resources.values() if each.type in WITHOUT_DATA)
    return Evidence(
        name,
        region or "every region",
        installed_version(),
        roles,
        data_of(resources),
        ways_in(resources),
        ways_out(resources, roles),
        None if report is None else findings_of(report, name),
        dict(sorted(other.items())),
        unknown_in(resources),
    )
