"""`examples/cdk_pipeline.py`: synthesizes, with the stacks of `cdk deploy` under the names that our commands know."""

import json
from pathlib import Path

import aws_cdk as cdk

from examples.cdk_pipeline import PIPELINE, PipelineStack
from support.repository import ROOT
from support.templates.template_parts import Template, all_of


def test_the_pipeline_deploys_to_dev_and_after_an_approval_to_prod(
    tmp_path: Path, templates: dict[str, Template]
) -> None:
    context = json.loads((ROOT / "cdk.json").read_text())["context"]
    app = cdk.App(context=context, outdir=str(tmp_path))
    PipelineStack(
        app, "pipeline", connection="arn:aws:codeconnections:us-east-1:111122223333:connection/1", env=PIPELINE
    )
    assembly = app.synth()
    (pipeline,) = all_of(assembly.get_stack_by_name("pipeline").template, "CodePipeline::Pipeline")
    stages = pipeline["Stages"]
    assert [stage["Name"] for stage in stages] == ["Source", "Build", "UpdatePipeline", "Assets", "Dev", "Prod"]
    assert stages[-1]["Actions"][0]["ActionTypeId"]["Category"] == "Approval"
    for nested, name in zip(assembly.nested_assemblies, ("qwen3-4b", "qwen3-4b-prod"), strict=True):
        (stack,) = nested.nested_assembly.stacks
        assert stack.stack_name == name
        types = sorted(each["Type"] for each in templates[name]["Resources"].values())
        assert sorted(each["Type"] for each in stack.template["Resources"].values()) == types
