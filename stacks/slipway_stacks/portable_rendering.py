"""Renders a deployment's portable template: the stack that `cdk deploy` makes, for any account and region."""

import json
from collections.abc import Mapping
from pathlib import Path

import aws_cdk as cdk
from constructs import Construct

from llm_hosting import ACCOUNT_SETTINGS
from llm_hosting.deployment.settings.governance import Governance
from llm_hosting.portable.code.assets import Code
from llm_hosting.portable.template import PortableTemplate, portable_template, without_bootstrap
from llm_hosting.resolution import Resolution
from slipway_stacks.account_settings_stack import AccountSettingsStack
from slipway_stacks.inference_stack import InferenceStack

# This id adds nothing to logical ids, so they are those of `cdk deploy`.
_STAGE = "Default"


def render(
    scope: Construct,
    name: str,
    resolution: Resolution,
    values: Mapping[str, str] | None = None,
    code: Code = "inline",
) -> PortableTemplate:
    """Render the portable template of a deployment, in a stage of its own below `scope`.

    values: known values of parameters. code: where the functions' code is. Raises InlineCodeError.
    """
    stage = cdk.Stage(scope, _STAGE)
    InferenceStack(stage, name, deployment=resolution, stack_name=name)
    path = _synthesized(stage, name)
    return portable_template(json.loads(path.read_text()), name, resolution, _assets(path), values or {}, code)


def render_account_settings(scope: Construct, governance: Governance) -> PortableTemplate:
    """Render the settings of an account and region, which have no parameter and no code."""
    stage = cdk.Stage(scope, ACCOUNT_SETTINGS)
    AccountSettingsStack(stage, ACCOUNT_SETTINGS, governance=governance, stack_name=ACCOUNT_SETTINGS)
    return PortableTemplate(without_bootstrap(json.loads(_synthesized(stage, ACCOUNT_SETTINGS).read_text())))


def _synthesized(stage: cdk.Stage, name: str) -> Path:
    return Path(stage.synth().get_stack_by_name(name).template_full_path)


def _assets(template: Path) -> dict[str, Path]:
    """The template's assets: files and folders by the keys of their objects."""
    manifest = Path(str(template).removesuffix(".template.json") + ".assets.json")
    return {
        destination["objectKey"]: (manifest.parent / entry["source"]["path"]).resolve()
        for entry in json.loads(manifest.read_text())["files"].values()
        for destination in entry["destinations"].values()
    }
