"""app.py without cdk-nag, whose cost is measured by itself: `-c deployment=<path of one file>`."""

import sys
from pathlib import Path

import aws_cdk as cdk
from aws_cdk import aws_lambda as lambda_

ROOT = Path(__file__).parent.parent
sys.path += [str(ROOT), str(ROOT / "constructs")]

from llm_hosting.preflight.check import load
from llm_hosting.resolution import describe
from stacks.inference_stack import InferenceStack

app = cdk.App(builtin_cloud_formation_validation=False)
path = Path(app.node.try_get_context("deployment"))
deployment, _ = load(path)
print(*describe(path.stem, deployment), sep="\n", file=sys.stderr)
code = lambda_.Code.from_asset(str(ROOT / "lambda_src"), exclude=["**/__pycache__", "*.md"])
InferenceStack(app, path.stem, deployment=deployment, code=code, env=cdk.Environment(region=deployment.region))
app.synth()
