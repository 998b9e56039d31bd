"""The accepted template of a deployment, and what an update from it to the synthesized one means."""

import contextlib
import json
import os
import sys
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from llm_hosting.deployment.paths import names
from llm_hosting.file_errors import why
from slipway.changes import classify
from slipway.changes.gate import judge
from slipway.changes.report import ChangeReport, page
from slipway.changes.template.reading import NoTemplateError, read_template
from slipway.changes.template.synthesis import Synthesized, demand_project, stack_of, synthesize
from slipway.shared.steps import Steps
from slipway.templates.masked import masked

FOLDER = Path("tests", "snapshots")


class Snapshot:
    """The template of a deployment, or of another stack of the app, and the accepted one in `file`."""

    def __init__(self, name: str, project: Path) -> None:
        self.name, self._project = name, project
        self._asked = os.path.abspath(name) if name.endswith((".yaml", ".yml")) else name
        self.file = project / FOLDER / f"{stack_of(self._asked, project)}.json"

    @cached_property
    def accepted(self) -> dict[str, Any] | None:
        """The accepted template; None = there is none that can be read, for example because of a merge's conflict."""
        with contextlib.suppress(NoTemplateError):
            return read_template(self.file)
        return None

    @cached_property
    def template(self) -> dict[str, Any]:
        """The template that the project's app synthesizes, masked. Raises NoTemplateError."""
        template: dict[str, Any] = masked(self._synthesized.template)
        return template

    @property
    def warnings(self) -> tuple[str, ...]:
        """What the app warns of: feature flags with which our templates are not tested. Raises NoTemplateError."""
        return self._synthesized.warnings

    @cached_property
    def _synthesized(self) -> Synthesized:
        return synthesize(self._asked, self._project)

    @property
    def is_accepted(self) -> bool:
        """Whether the two are the same."""
        return self.accepted == self.template

    @property
    def meaning(self) -> str:
        """What an update from the accepted template does, a line for each change."""
        said = meaning(self.name, self.accepted or {}, self.template)
        return said or f"{self.name} differs from the accepted template, but an update does nothing"

    def accept(self) -> None:
        """Write the template to the file."""
        self.file.parent.mkdir(parents=True, exist_ok=True)
        self.file.write_text(json.dumps(self.template, indent=2, sort_keys=True) + "\n")


def meaning(name: str, accepted: dict[str, Any], template: dict[str, Any]) -> str:
    """Return what an update from the accepted template does; "" if it does nothing."""
    changes = classify(accepted, template)
    return page(ChangeReport(name, "the accepted template", changes, judge(changes, []))) if changes else ""


def run(deployments: Sequence[str], project: Path) -> int:
    """Accept the template of each deployment, and print what the change means.

    deployments: none = all of the project. Returns the exit status: 1 if a template can't be synthesized or written,
    2 if the folder is no project.
    """
    wanted = deployments or names(project / "deployments")
    if not wanted:
        print(f"{project} has no deployment: run this in a folder that `slipway init` has made.", file=sys.stderr)
        return 2
    try:
        demand_project(project)
    except NoTemplateError as error:
        print(error, file=sys.stderr)
        return 2
    steps, warnings = Steps(), dict[str, None]()
    try:
        for name in wanted:
            snapshot = Snapshot(name, project)
            steps(f"synthesizing {name}")
            said = _accepted(snapshot)
            steps.end()
            print(said, flush=True)
            warnings |= dict.fromkeys(snapshot.warnings)
    except NoTemplateError as error:
        steps.end()
        print(error, file=sys.stderr)
        return 1
    except OSError as error:
        steps.end()
        print(f"{error.filename} can't be written: {why(error)}.", file=sys.stderr)
        return 1
    for warning in warnings:
        print(f"warning: {warning}", file=sys.stderr)
    return 0


def _accepted(snapshot: Snapshot) -> str:
    """Accept the template, and return what the change means."""
    name, file = snapshot.name, f"{FOLDER / snapshot.file.name}"
    if snapshot.is_accepted:
        return f"{name}: {file} is the template already."
    snapshot.accept()
    if snapshot.accepted is None:
        return f"{name}: wrote {file}, the accepted template: {len(snapshot.template.get('Resources', ()))} resources."
    return f"{snapshot.meaning}\n\nWrote {file}."
