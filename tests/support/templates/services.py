"""Synthesizes stacks of teams' own apps, with the feature flags that our templates are tested with."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import aws_cdk as cdk
from cdk_nag import AwsSolutionsChecks, ServerlessChecks

from llm_hosting.deployment.model import Deployment
from llm_hosting.home import HOME
from support.deployments.known_deployments import DEPLOYMENTS
from support.templates.template_parts import Template

REALTIME = DEPLOYMENTS / "gpt2.yaml"
SLEEPING = DEPLOYMENTS / "qwen3-4b-zero.yaml"
ON_MACHINES = DEPLOYMENTS / "gpt2-ec2.yaml"


def asynchronous(**sections: Any) -> Deployment:
    """Return a typed deployment with `hosting.mode: async`."""
    hosting = {"mode": "async", "instance_type": "ml.g6.2xlarge"} | sections.pop("hosting", {})
    return Deployment.model_validate({"model": {"id": "Qwen/Qwen3-4B"}, "hosting": hosting} | sections)


def an_app(folder: Path, **flags: Any) -> cdk.App:
    """Return an app that writes to this folder. flags: feature flags that differ from the tested ones."""
    context = json.loads((HOME / "cdk.json").read_text())["context"] | flags
    return cdk.App(context=context, outdir=str(folder), builtin_cloud_formation_validation=False)


def synthesized(folder: Path, fill: Callable[[cdk.App], object]) -> dict[str, Template]:
    """Return the templates of an app by the names of its stacks. cdk-nag judges them; a finding raises."""
    app = an_app(folder)
    fill(app)
    cdk.Validations.of(app).add_plugins(AwsSolutionsChecks(app), ServerlessChecks(app))
    assembly = app.synth()
    return {each.stack_name: each.template for each in assembly.stacks_recursively}
