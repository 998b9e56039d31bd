"""The templates that the working tree makes of a release's deployment files, fleets and app."""

import json
import runpy
from collections.abc import Iterator
from pathlib import Path

import aws_cdk as cdk
from aws_cdk import assertions

from llm_hosting import ACCOUNT_SETTINGS, FLEET_PREFIX, STAGING_PREFIX
from llm_hosting.fleets.file import load_fleet
from local_cloud.assembly import read_stacks, synthesize
from slipway.templates.masked import masked
from slipway_stacks.fleet_rendering import render_fleet
from slipway_stacks.fleet_stack import FleetStack
from support.deployments.known_deployments import STAGED_FILE
from support.releases.kept_releases import Release
from support.repository import ROOT
from support.templates.services import an_app
from support.templates.template_parts import Template


def templates_of(release: Release) -> dict[str, Template]:
    """Return the masked templates by stack; a fleet also has the rendered template of its stack sets."""
    output = ROOT / "cdk.out" / "releases" / release.version
    staged = release.folder / "deployments" / f"{STAGED_FILE.stem}.yaml"
    names = [*map(str, release.deployments), f"{STAGING_PREFIX}{staged}", ACCOUNT_SETTINGS]
    found = {stack.name: stack.template for stack in read_stacks(synthesize(names, output / "deployments"))}
    found |= dict(_of_fleets(release)) | dict(_of_own_app(release, output / "own_app"))
    return {name: masked(template) for name, template in sorted(found.items())}


def _of_fleets(release: Release) -> Iterator[tuple[str, Template]]:
    app = cdk.App(context=json.loads((ROOT / "cdk.json").read_text())["context"])
    for path in release.fleets:
        rendered = render_fleet(app, path.stem, *load_fleet(path, release.folder))
        stack = FleetStack(app, f"{FLEET_PREFIX}{path.stem}", rendered=rendered)
        yield stack.stack_name, assertions.Template.from_stack(stack).to_json()
        yield f"{path.stem} (rendered)", _without_code(rendered.template.content)


def _of_own_app(release: Release, output: Path) -> Iterator[tuple[str, Template]]:
    app = an_app(output)
    runpy.run_path(str(release.own_app))["fill"](app, release.folder / "deployments")
    yield from ((stack.stack_name, stack.template) for stack in app.synth().stacks)


def _without_code(template: Template) -> Template:
    """Remove the text of the functions, which changes with every edit."""
    del template["Mappings"]["Code"]
    for each in template["Resources"].values():
        if each["Type"] == "AWS::Lambda::Function":
            del each["Properties"]["Code"]
    return template
