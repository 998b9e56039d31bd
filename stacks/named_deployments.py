"""Turns the names in the CDK context into stacks."""

import sys
from pathlib import Path

import aws_cdk as cdk
from aws_cdk import aws_lambda as lambda_

from llm_hosting import ACCOUNT_SETTINGS, STAGING_PREFIX
from llm_hosting.archive import handler_folders
from llm_hosting.deployment_file import DeploymentError
from llm_hosting.deployment_paths import UnknownDeploymentError, find
from llm_hosting.preflight.validation import load
from llm_hosting.resolution.description import describe
from stacks.account_settings_stack import AccountSettingsStack
from stacks.inference_stack import InferenceStack
from stacks.staging_stack import StagingStack


def add_stacks(app: cdk.App, root: Path) -> None:
    """A stack for each name or path in the context's `deployment`, which commas separate.

    `slipway-staging-` before a name or path asks for the build project that stages its weights instead.
    root: the folder with `deployments/`, `lambda_src/` and `model_src/`. Raises SystemExit with every problem of every
    file.
    """
    asked = [name.strip() for name in (app.node.try_get_context("deployment") or "").split(",")]
    staged = [name.removeprefix(STAGING_PREFIX) for name in asked if name.startswith(STAGING_PREFIX)]
    names = [name for name in asked if not name.startswith(STAGING_PREFIX)]
    paths = [_path(name, root) for name in names if name != ACCOUNT_SETTINGS]
    stems = [path.stem for path in paths]
    if len(set(stems)) < len(stems) or len(set(asked)) < len(asked):
        sys.exit(f"-c deployment={','.join(asked)} names a stack twice; name each once.")
    for name in staged:
        _stage(app, name, root)
    loaded, errors = {}, []
    for path in paths:
        try:
            loaded[path.stem] = load(path, handler_folders(root / "model_src"))
        except DeploymentError as error:
            errors.append(str(error))
    if errors:
        sys.exit("\n".join(errors))
    if ACCOUNT_SETTINGS in names:
        AccountSettingsStack(app, ACCOUNT_SETTINGS)
    for name, (resolution, findings) in loaded.items():
        print(*describe(name, resolution), sep="\n", file=sys.stderr)
        for finding in (each for each in findings if each.level != "note"):
            print(f"  {finding.level:<9} {finding.field}: {finding.message}", file=sys.stderr)
        code = lambda_.Code.from_asset(str(root / "lambda_src"), exclude=["**/__pycache__", "*.md"])
        InferenceStack(
            app,
            name,
            deployment=resolution.deployment,
            resolution=resolution,
            code=code,
            handlers=root / "model_src",
            env=cdk.Environment(region=resolution.deployment.region),
        )


def _stage(app: cdk.App, name: str, root: Path) -> None:
    path = _path(name, root)
    try:
        resolution, _ = load(path, handler_folders(root / "model_src"))
    except DeploymentError as error:
        sys.exit(str(error))
    deployment = resolution.deployment
    if not deployment.model.weights:
        sys.exit(f"{path} names no prefix to stage to: set model.weights, such as s3://my-bucket/{path.stem}/.")
    print(f"{STAGING_PREFIX}{path.stem}: copies {deployment.model.id} to {deployment.model.weights}", file=sys.stderr)
    environment = cdk.Environment(region=deployment.region)
    StagingStack(app, f"{STAGING_PREFIX}{path.stem}", deployment=deployment, path=path, root=root, env=environment)


def _path(name: str, root: Path) -> Path:
    try:
        return find(name, root / "deployments")
    except UnknownDeploymentError as error:
        sys.exit(f"{error} Name it with -c deployment=<name>; {ACCOUNT_SETTINGS} is a name too.")
