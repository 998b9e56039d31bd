"""The CDK app: `cdk deploy -c deployment=<name or path>[,<another>]`."""

import os
import sys
from pathlib import Path

import aws_cdk as cdk
from aws_cdk import aws_lambda as lambda_
from cdk_nag import AwsSolutionsChecks, ServerlessChecks

ROOT = Path(__file__).parent
# `constructs/` is a source root (like `src/`): the import name itself belongs to the CDK.
sys.path.append(str(ROOT / "constructs"))

from llm_hosting.deployment import DeploymentError
from llm_hosting.preflight.check import load
from llm_hosting.resolution import describe
from stacks.account_settings_stack import AccountSettingsStack
from stacks.inference_stack import InferenceStack

ACCOUNT_SETTINGS = "slipway-account-settings"


def find(name: str) -> Path:
    """The file of a deployment given by name or path.

    Raises SystemExit, with the known names, when there is none.
    """
    for path in (ROOT / "deployments" / f"{name}.yaml", Path(name)):
        if path.is_file():
            return path
    known = ", ".join(sorted(path.stem for path in (ROOT / "deployments").glob("*.yaml")))
    problem = f"There is no deployment {name!r}" if name else "No deployment is named"
    sys.exit(f"{problem}: use -c deployment=<name> with {known}, {ACCOUNT_SETTINGS} or the path of a YAML file.")


def main() -> None:
    """Read the deployments, create a stack for each, register cdk-nag, synthesize."""
    # The CDK's own validation takes several times as long as the synth: `make check` asks for it.
    app = cdk.App(builtin_cloud_formation_validation=os.environ.get("CDK_VALIDATION") == "true")
    for name in (app.node.try_get_context("deployment") or "").split(","):
        if name == ACCOUNT_SETTINGS:
            AccountSettingsStack(app, name)
            continue
        path = find(name)
        try:
            deployment, warnings = load(path)
        except DeploymentError as error:
            sys.exit(str(error))
        print(*describe(path.stem, deployment), sep="\n", file=sys.stderr)
        for warning in warnings:
            print(f"  warning   {warning.field}: {warning.message}", file=sys.stderr)
        code = lambda_.Code.from_asset(str(ROOT / "lambda_src"), exclude=["**/__pycache__", "*.md"])
        InferenceStack(app, path.stem, deployment=deployment, code=code, env=cdk.Environment(region=deployment.region))
    cdk.Validations.of(app).add_plugins(AwsSolutionsChecks(app), ServerlessChecks(app))
    app.synth()


if __name__ == "__main__":
    main()
