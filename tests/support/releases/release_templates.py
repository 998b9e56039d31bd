"""The templates that the working tree makes of a release's deployment files and fleets."""

import json
from collections.abc import Iterator

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
from support.templates.template_parts import Template


def templates_of(release: Release) -> dict[str, Template]:
    """Return the masked templates by stack; a fleet also has the rendered template of its stack sets."""
    staged = release.folder / "deployments" / f"{STAGED_FILE.stem}.yaml"
    names = [*map(str, release.deployments), f"{STAGING_PREFIX}{staged}", ACCOUNT_SETTINGS]
    assembly = synthesize(names, ROOT / "cdk.out" / "releases" / release.version)
    found = {stack.name: stack.template for stack in read_stacks(assembly)} | dict(_of_fleets(release))
    return {name: masked(template) for name, template in sorted(found.items())}


def _of_fleets(release: Release) -> Iterator[tuple[str, Template]]:
    app = cdk.App(context=json.loads((ROOT / "cdk.json").read_text())["context"])
    for path in release.fleets:
        rendered = render_fleet(app, path.stem, *load_fleet(path, release.folder))
        stack = FleetStack(app, f"{FLEET_PREFIX}{path.stem}", rendered=rendered)
        yield stack.stack_name, assertions.Template.from_stack(stack).to_json()
        yield f"{path.stem} (rendered)", _without_code(rendered.template.content)


def _without_code(template: Template) -> Template:
    """Remove the text of the functions, which changes with every edit."""
    del template["Mappings"]["Code"]
    for each in template["Resources"].values():
        if each["Type"] == "AWS::Lambda::Function":
            del each["Properties"]["Code"]
    return template
