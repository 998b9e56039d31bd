"""Portable templates of deployments, made from templates that a synth has written."""

import json
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import aws_cdk as cdk

from llm_hosting.portable.names import with_own_name
from llm_hosting.portable.template import PortableTemplate, portable_template, without_bootstrap
from llm_hosting.preflight.validation import load
from llm_hosting.resolution import Resolution
from llm_hosting.sources import handler_names
from local_cloud.assembly import Stack, read_stacks
from slipway_stacks.inference_stack import InferenceStack
from support.deployments.known_deployments import SHIPPED_FILES, VARIANT_FILES
from support.repository import ROOT
from support.templates.resolved_templates import resolved
from support.templates.template_parts import Template

_DIGESTED = r"(RoleArtefacts|Machine\d+(?:Handle|SetUp|Template))"  # ids with a hash of what parameters change
_DEPLOYMENT = r"(ApiRestApiDeployment[0-9A-F]{8})[0-9a-f]{32,40}"  # with a hash of the API, its policy included
FILES = SHIPPED_FILES | {path.stem: path for path in VARIANT_FILES}


@cache
def resolution(name: str) -> Resolution:
    """Resolve a shipped deployment or a variant."""
    return load(FILES[name], handler_names(ROOT))[0]


def portable(
    stack: Stack, given: Resolution | None = None, values: Mapping[str, str] | None = None
) -> PortableTemplate:
    """Render the portable template of a synthesized stack.

    `given`: the deployment; None if it is the shipped deployment or the variant with the stack's name.
    """
    return _made(stack, given, values) if given or values else _of_file(stack)


@cache
def _of_file(stack: Stack) -> PortableTemplate:
    return _made(stack, None, None)


def _made(stack: Stack, given: Resolution | None, values: Mapping[str, str] | None) -> PortableTemplate:
    assets = {asset.object_key: asset.source for asset in stack.assets}
    return portable_template(stack.template, stack.name, given or resolution(stack.name), assets, values or {})


def synthesized(resolutions: Mapping[str, Resolution], folder: Path) -> dict[str, Stack]:
    """Synthesize stacks of deployments that have no file, by name."""
    context = json.loads((ROOT / "cdk.json").read_text())["context"]
    app = cdk.App(context=context, outdir=str(folder), builtin_cloud_formation_validation=False)
    for name, each in resolutions.items():
        InferenceStack(app, name, deployment=each)
    app.synth()
    return {stack.name: stack for stack in read_stacks(folder)}


def comparable(template: Template, name: str, values: Mapping[str, str] | None = None) -> Template:
    """Return resources and outputs without the intended differences: code, its bucket, switches, the API's policy."""
    if "BootstrapVersion" in template["Parameters"]:
        bucket = "cdk-hnb659fds-assets-${AWS::AccountId}-${AWS::Region}"
        template = json.loads(json.dumps(without_bootstrap(template)).replace(bucket, "archives-${AWS::Region}"))
        template = {**template, **{part: with_own_name(template[part], name) for part in ("Resources", "Outputs")}}
    sections = resolved(template, values)
    for resource in sections["Resources"].values():
        if resource["Type"] == "AWS::ApiGateway::RestApi":
            resource["Properties"].pop("Policy", None)
        if resource["Type"] == "AWS::Lambda::Function":
            properties = resource["Properties"]
            properties.pop("Code")
            properties["Handler"] = properties["Handler"].removesuffix(".handler").rpartition(".")[2]
            properties["Environment"]["Variables"].pop("ENDPOINT_DEPLOYED", None)
    text = re.sub(rf"{_DIGESTED}[0-9a-f]{{8}}[0-9A-F]{{8}}", r"\1", json.dumps(sections))
    compared: Template = json.loads(re.sub(_DEPLOYMENT, r"\1", text))
    return compared
