"""Copies a model's weights from the Hub to S3. All files become visible at once."""

import os
import re
import sys
from pathlib import Path
from typing import Any

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from llm_hosting.deployment.file import DeploymentError, parse
from llm_hosting.deployment.lock_file import locked
from llm_hosting.deployment.model import Deployment
from llm_hosting.deployment.paths import UnknownDeploymentError, find
from llm_hosting.deployment.settings.model import Model
from llm_hosting.file_errors import why
from slipway.shared.aws_errors import sentence
from slipway.staging.adapters import complete_adapter, copy_adapter
from slipway.staging.hub_errors import HubError
from slipway.staging.hub_repository import HubRepository
from slipway.staging.staging import StagingError, abandon, stage
from slipway.staging.transfer import PARTS_AT_ONCE, TransferError
from slipway.staging.weight_files import SelectionError
from slipway.staging.weights_prefix import PrefixError, WeightsPrefix, bucket_region
from slipway.weights.source import BrokenWeightsError


def run(
    name: str, root: Path, folder: Path | None, *, give_up: bool, adapter: str | None = None, to: str | None = None
) -> int:
    """Stage the weights and adapters of a deployment, or abandon an unfinished staging.

    root: the folder with `deployments/`. folder: for downloads; None = below the user's cache. adapter: stage only
    this one; to: the prefix for an adapter on the Hub. Returns the exit status: 0 if everything is complete (or
    abandoned), 1 after a problem, which was printed, 2 for an unknown deployment.
    """
    try:
        path = find(name, root / "deployments")
    except UnknownDeploymentError as error:
        print(error, file=sys.stderr)
        return 2
    folder = folder or Path.home() / ".cache" / "slipway" / "staging"
    try:
        deployment = _at_its_commit(parsed(path), path)
        in_s3 = [each for each, source in deployment.model.adapters.items() if source.startswith("s3://")]
        if to and not adapter:
            raise StagingError("--to is the prefix of one adapter: name that with --adapter.")
        if adapter:
            _stage_adapter(deployment, path, adapter, to, folder, give_up=give_up)
            return 0
        if deployment.model.weights or not in_s3:
            _stage_weights(deployment, path, folder, give_up=give_up)
        for each in () if give_up else in_s3:
            _stage_adapter(deployment, path, each, None, folder, give_up=False)
        return 0
    except KeyboardInterrupt:
        print("\nstopped; the same command resumes it", file=sys.stderr, flush=True)
        os._exit(1)  # downloads in threads can't be stopped; the next run resumes
    except (BrokenWeightsError, DeploymentError, HubError) as error:
        print(error, file=sys.stderr)
    except (PrefixError, SelectionError, StagingError, TransferError) as error:
        print(error, file=sys.stderr)
    except (BotoCoreError, ClientError) as error:
        print(sentence(error), file=sys.stderr)
    except OSError as error:
        print(f"{error.filename or 'The disk'} can't be used: {why(error)}.", file=sys.stderr)
    return 1


def _stage_weights(deployment: Deployment, path: Path, folder: Path, *, give_up: bool) -> None:
    model = deployment.model
    if not model.weights:
        example = f"s3://my-bucket/{model.id.rpartition('/')[2].lower()}/"
        raise StagingError(f"model.weights: {path} names no prefix to stage to; add one, such as {example}.")
    prefix = _prefix(deployment, path, model.weights)
    if give_up:
        abandon(prefix)
    else:
        stage(deployment, HubRepository(model.id, hub_token(model)), prefix, folder)


def _stage_adapter(
    deployment: Deployment, path: Path, name: str, to: str | None, folder: Path, *, give_up: bool
) -> None:
    """Copy an adapter from the Hub to the prefix, or take the one in S3, and complete it there."""
    field, source = f"model.adapters.{name}", deployment.model.adapters.get(name)
    if source is None:
        known = ", ".join(deployment.model.adapters) or "none"
        raise StagingError(f"--adapter: {path} names no adapter {name!r}; it has {known}.")
    is_in_s3 = source.startswith("s3://")
    if is_in_s3 and to:
        raise StagingError(f"--to: {field} is in S3 already ({source}); leave it out, or name the adapter's Hub id.")
    if not is_in_s3 and not to:
        raise StagingError(f"{field}: {source} is on the Hub; name its prefix, such as --to s3://my-bucket/{name}/.")
    if to and not re.fullmatch(r"s3://[a-z0-9][a-z0-9.-]+/([A-Za-z0-9_!.'()-]+/)+", to):
        raise StagingError(f"--to: {to} is not a prefix; use this form: s3://my-bucket/{name}/.")
    try:
        prefix = _prefix(deployment, path, to or source)
        if give_up:
            abandon(prefix)
            return
        if not is_in_s3:
            copy_adapter(deployment, source, hub_token(deployment.model), prefix, folder)
        complete_adapter(name, prefix, folder)
    except (PrefixError, StagingError) as error:
        raise type(error)(str(error).replace("model.weights", field)) from None
    if to:
        print(f"Write it into {path}: {field}: {to}")


def parsed(path: Path) -> Deployment:
    """Read the deployment and check it by the schema only, because engine and hosting may still be undecided."""
    deployment, problems, _ = parse(path)
    if problems or deployment is None:
        raise DeploymentError(path, [f"{problem.place}: {problem.message}" for problem in problems])
    return deployment


def _at_its_commit(deployment: Deployment, path: Path) -> Deployment:
    """Set the revision to the commit of the lock. Raises DeploymentError for a lock of another model or revision."""
    deployment, problems = locked(deployment, path)
    if problems:
        raise DeploymentError(path, [f"{problem.place}: {problem.message}" for problem in problems])
    model = deployment.model.model_copy(update={"revision": deployment.revision})
    return deployment.model_copy(update={"model": model})


def _prefix(deployment: Deployment, path: Path, weights: str) -> WeightsPrefix:
    bucket = weights.removeprefix("s3://").partition("/")[0]
    region = bucket_region(_s3(deployment.region or os.environ.get("AWS_REGION")), bucket)
    if deployment.region and region != deployment.region:
        raise StagingError(
            f"model.weights: the bucket {bucket} is in {region}, and the deployment in {deployment.region}; SageMaker "
            "reads weights from its own region only, so name a bucket there."
        )
    if not deployment.region:
        print(f"{path} names no region: deploy it in {region}, where the bucket is.")
    return WeightsPrefix(_s3(region), weights, deployment.model.weights_kms_key_arn)


def _s3(region: str | None) -> Any:
    settings = Config(retries={"mode": "standard", "total_max_attempts": 8}, max_pool_connections=2 * PARTS_AT_ONCE)
    return boto3.client("s3", region_name=region, config=settings)


def hub_token(model: Model) -> str | None:
    """The token in the deployment's secret; None = huggingface_hub looks for a token itself."""
    arn = model.hub_token_secret_arn
    if os.environ.get("HF_TOKEN") or not arn:
        return None
    secret = boto3.client("secretsmanager", region_name=arn.split(":")[3]).get_secret_value(SecretId=arn)
    token: str = secret.get("SecretString", "").strip()
    if not re.fullmatch(r"[!-z]+", token):  # the braces of a JSON object come after z
        raise StagingError(f"model.hub_token_secret_arn: {arn} must hold a token as plain text and nothing else.")
    return token
