"""Turns the names in the CDK context into stacks."""

import contextlib
import sys
from pathlib import Path

import aws_cdk as cdk
from aws_cdk import aws_lambda as lambda_

from llm_hosting import ACCOUNT_SETTINGS
from llm_hosting.deployment_file import DeploymentError
from llm_hosting.preflight.check import load
from llm_hosting.resolution import describe
from stacks.account_settings_stack import AccountSettingsStack
from stacks.inference_stack import InferenceStack


def add_stacks(app: cdk.App, root: Path) -> None:
    """A stack for each name or path in the context's `deployment`, which commas separate.

    root: the folder with `deployments/` and `lambda_src/`. Raises SystemExit with every problem of every file.
    """
    names = [name.strip() for name in (app.node.try_get_context("deployment") or "").split(",")]
    paths = [_find(name, root / "deployments") for name in names if name != ACCOUNT_SETTINGS]
    stems = [path.stem for path in paths]
    if len(set(stems)) < len(stems) or len(set(names)) < len(names):
        sys.exit(f"-c deployment={','.join(names)} names a stack twice; name each once.")
    loaded, errors = {}, []
    for path in paths:
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
        code = lambda_.Code.from_asset(str(root / "lambda_src"), exclude=["**/__pycache__", "*.md"])
        InferenceStack(app, name, deployment=deployment, code=code, env=cdk.Environment(region=deployment.region))


def _find(name: str, folder: Path) -> Path:
    for path in (folder / f"{name}.yaml", Path(name)):
        with contextlib.suppress(OSError):  # a name too long for a file, say
            if path.is_file():
                return path
    known = ", ".join(sorted(path.stem for path in folder.glob("*.yaml")))
    problem = f"There is no deployment {name!r}" if name else "No deployment is named"
    sys.exit(f"{problem}: use -c deployment=<name> with {known}, {ACCOUNT_SETTINGS} or the path of a YAML file.")
