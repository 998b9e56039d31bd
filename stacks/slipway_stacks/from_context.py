"""Creates the stacks of the deployments that the CDK context names."""

import sys
from pathlib import Path

import aws_cdk as cdk

from llm_hosting import ACCOUNT_SETTINGS, ENDPOINT_PREFIX, STAGING_PREFIX
from llm_hosting.archive import ArchiveError
from llm_hosting.deployment.endpoint_file import find_endpoint
from llm_hosting.deployment.file import DeploymentError
from llm_hosting.deployment.finding import Finding
from llm_hosting.deployment.model import Deployment
from llm_hosting.deployment.paths import UnknownDeploymentError, find, stack_name
from llm_hosting.deployment.settings.governance import Governance
from llm_hosting.deployment.settings.shared_endpoint import FOLDER, Shared
from llm_hosting.preflight.shared_endpoints import load_endpoint
from llm_hosting.preflight.validation import load
from llm_hosting.resolution import Resolution
from llm_hosting.resolution.description import describe
from llm_hosting.sources import handler_names
from slipway_stacks.account_settings_stack import AccountSettingsStack
from slipway_stacks.inference_stack import InferenceStack
from slipway_stacks.shared_endpoint_stack import SharedEndpointStack

Loaded = tuple[Resolution, list[Finding]]


def add_stacks(app: cdk.App, root: Path) -> None:
    """Add a stack for each name or path in the context's `deployment`, separated by commas; none without it.

    A name with the prefix `slipway-staging-` adds the build project that stages the deployment's weights, and one with
    the prefix `slipway-endpoint-` the shared endpoint of a file in `endpoints/`. The role of the account settings is
    limited and tagged as the first deployment beside it says. root: the folder of the project.
    Raises SystemExit with every problem of every file.
    """
    named = app.node.try_get_context("deployment")
    if named is None:
        return
    asked = [name.strip() for name in named.split(",")]
    staged = [name.removeprefix(STAGING_PREFIX) for name in asked if name.startswith(STAGING_PREFIX)]
    endpoints = {name: _endpoint(name, root) for name in asked if name.startswith(ENDPOINT_PREFIX)}
    others = (STAGING_PREFIX, ENDPOINT_PREFIX)
    hosted = [name for name in asked if not name.startswith(others) and name != ACCOUNT_SETTINGS]
    stage_paths, host_paths = [_path(name, root) for name in staged], [_path(name, root) for name in hosted]
    stacks = [stack_name(path) for path in host_paths]
    if len(set(stacks)) < len(stacks) or len(set(asked)) < len(asked):
        sys.exit(f"-c deployment={','.join(asked)} names a stack twice; name each once.")
    loaded = _load({*stage_paths, *host_paths}, root)
    if ACCOUNT_SETTINGS in asked:
        beside = [loaded[path][0].deployment.security for path in host_paths]
        AccountSettingsStack(app, ACCOUNT_SETTINGS, governance=next(iter(beside), Governance()))
    shared = {name: _add_endpoint_stack(app, name, each) for name, each in endpoints.items()}
    for path in stage_paths:
        _add_staging_stack(app, path, loaded[path][0].deployment)
    for name, path in zip(stacks, host_paths, strict=True):
        stack = _add_inference_stack(app, name, loaded[path])
        place = loaded[path][0].deployment.shared
        if place and (endpoint := shared.get(place.stack)):
            stack.add_stack_dependency(endpoint)


def _endpoint(name: str, root: Path) -> Shared:
    if (path := find_endpoint(name, root)) is None:
        sys.exit(f"There is no file {FOLDER}/{name.removeprefix(ENDPOINT_PREFIX)}.yaml for {name}.")
    try:
        occupied, findings = load_endpoint(path, root)
    except DeploymentError as error:
        sys.exit(str(error))
    for each in findings:
        print(f"{name}: {each.level}: {each.field}: {each.message}", file=sys.stderr)
    return occupied.shared


def _add_endpoint_stack(app: cdk.App, name: str, shared: Shared) -> cdk.Stack:
    return SharedEndpointStack(app, name, shared=shared, env=cdk.Environment(region=shared.endpoint.region))


def _path(name: str, root: Path) -> Path:
    try:
        return find(name, root / "deployments")
    except UnknownDeploymentError as error:
        sys.exit(f"{error} Name it with -c deployment=<name>; {ACCOUNT_SETTINGS} is a name too.")


def _load(paths: set[Path], root: Path) -> dict[Path, Loaded]:
    loaded, errors = {}, []
    for path in sorted(paths):
        try:
            loaded[path] = load(path, handler_names(root))
        except DeploymentError as error:
            errors.append(str(error))
    if errors:
        sys.exit("\n".join(errors))
    return loaded


def _add_inference_stack(app: cdk.App, name: str, loaded: Loaded) -> cdk.Stack:
    resolution, findings = loaded
    print(*describe(name, resolution, findings), sep="\n", file=sys.stderr)
    environment = cdk.Environment(region=resolution.deployment.region)
    try:
        return InferenceStack(app, name, deployment=resolution, env=environment)
    except ArchiveError as error:
        sys.exit(str(error))


def _add_staging_stack(app: cdk.App, path: Path, deployment: Deployment) -> None:
    from slipway_stacks.staging_stack import StagingStack  # late: only this stack needs the CDK's CodeBuild

    if not deployment.model.weights:
        example = f"s3://my-bucket/{stack_name(path)}/"
        sys.exit(f"{path} does not say where to stage the weights: set model.weights, such as {example}.")
    name = f"{STAGING_PREFIX}{stack_name(path)}"
    print(f"{name}: copies {deployment.model.id} to {deployment.model.weights}", file=sys.stderr)
    environment = cdk.Environment(region=deployment.region)
    StagingStack(app, name, deployment=deployment, path=path, env=environment)
