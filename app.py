"""The CDK app: `cdk deploy -c deployment=<name or path>[,<another>]`."""

import os
import sys
from pathlib import Path

try:
    import aws_cdk as cdk
except ImportError:
    sys.exit("This Python has no CDK: run `make setup`, then `source .venv/bin/activate`.")
from aws_cdk import aws_lambda as lambda_
from cdk_nag import AwsSolutionsChecks, ServerlessChecks

ROOT = Path(__file__).parent
# `constructs/` is a source root (like `src/`): the import name itself belongs to the CDK.
sys.path.append(str(ROOT / "constructs"))

from llm_hosting import ACCOUNT_SETTINGS
from llm_hosting.deployment_file import DeploymentError
from llm_hosting.preflight.check import load
from llm_hosting.resolution import describe
from stacks.account_settings_stack import AccountSettingsStack
from stacks.inference_stack import InferenceStack


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


def add_stacks(app: cdk.App) -> None:
    """A stack for each deployment that the context names.

    Raises SystemExit with every problem of every file.
    """
    names = [name.strip() for name in (app.node.try_get_context("deployment") or "").split(",")]
    paths = {name: find(name) for name in names if name != ACCOUNT_SETTINGS}
    stems = [path.stem for path in paths.values()]
    if len(set(stems)) < len(stems) or len(set(names)) < len(names):
        sys.exit(f"-c deployment={','.join(names)} names a stack twice; name each once.")
    loaded, errors = {}, []
    for path in paths.values():
        try:
            loaded[path.stem] = load(path)
        except DeploymentError as error:
            errors.append(str(error))
    if errors:
        sys.exit("\n".join(errors))
    if ACCOUNT_SETTINGS in names:
        AccountSettingsStack(app, ACCOUNT_SETTINGS)
    for name, (deployment, warnings) in loaded.items():
        print(*describe(name, deployment), sep="\n", file=sys.stderr)
        for warning in warnings:
            print(f"  warning   {warning.field}: {warning.message}", file=sys.stderr)
        code = lambda_.Code.from_asset(str(ROOT / "lambda_src"), exclude=["**/__pycache__", "*.md"])
        InferenceStack(app, name, deployment=deployment, code=code, env=cdk.Environment(region=deployment.region))


def main() -> None:
    """Create the stacks, register cdk-nag, synthesize."""
    # The CDK's own validation takes several times as long as the synth: `make check` asks for it.
    app = cdk.App(builtin_cloud_formation_validation=os.environ.get("CDK_VALIDATION") == "true")
    add_stacks(app)
    cdk.Validations.of(app).add_plugins(AwsSolutionsChecks(app), ServerlessChecks(app))
    app.synth()


if __name__ == "__main__":
    main()
