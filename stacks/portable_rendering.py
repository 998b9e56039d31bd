"""A deployment -> its portable template: the stack that `cdk deploy` makes, for any account and region."""

import json
from collections.abc import Mapping
from pathlib import Path

import aws_cdk as cdk
from constructs import Construct

from llm_hosting import ACCOUNT_SETTINGS
from llm_hosting.portable.code.assets import Code
from llm_hosting.portable.template import PortableTemplate, portable_template, without_bootstrap
from llm_hosting.resolution import Resolution
from llm_hosting.sources import Sources
from stacks.account_settings_stack import AccountSettingsStack
from stacks.inference_stack import InferenceStack

# Adds nothing to logical ids: they are those of `cdk deploy`.
_STAGE = "Default"


def render(
    scope: Construct,
    name: str,
    resolution: Resolution,
    sources: Sources,
    values: Mapping[str, str] | None = None,
    code: Code = "inline",
) -> PortableTemplate:
    """The portable template of a deployment, made in a stage of its own below `scope`.

    values: of parameters, where they are known. code: where that of functions stands. Raises InlineCodeError.
    """
    stage = cdk.Stage(scope, _STAGE)
    InferenceStack(stage, name, resolution=resolution, sources=sources, stack_name=name)
    path = _synthesized(stage, name)
    return portable_template(json.loads(path.read_text()), name, resolution, _assets(path), values or {}, code)


def render_account_settings(scope: Construct) -> PortableTemplate:
    """The portable template of the settings of an account and region: no parameter, no code."""
    stage = cdk.Stage(scope, ACCOUNT_SETTINGS)
    AccountSettingsStack(stage, ACCOUNT_SETTINGS, stack_name=ACCOUNT_SETTINGS)
    return PortableTemplate(without_bootstrap(json.loads(_synthesized(stage, ACCOUNT_SETTINGS).read_text())))


def _synthesized(stage: cdk.Stage, name: str) -> Path:
    return Path(stage.synth().get_stack_by_name(name).template_full_path)


def _assets(template: Path) -> dict[str, Path]:
    """Files and folders by the keys of the objects that the template expects."""
    manifest = Path(str(template).removesuffix(".template.json") + ".assets.json")
    return {
        destination["objectKey"]: (manifest.parent / entry["source"]["path"]).resolve()
        for entry in json.loads(manifest.read_text())["files"].values()
        for destination in entry["destinations"].values()
    }
