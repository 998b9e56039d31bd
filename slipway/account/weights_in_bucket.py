"""Checks that the prefix `model.weights` holds a model that SageMaker can load."""

from collections.abc import Iterator, Mapping

from botocore.exceptions import ClientError

from llm_hosting.deployment.finding import Finding
from llm_hosting.deployment.lock import ModelLock
from llm_hosting.deployment.model import Deployment
from llm_hosting.preflight.report import Report
from slipway.account.account import Account
from slipway.locking.file_summary import differences
from slipway.staging.manifest import Manifest
from slipway.staging.weight_files import HubFile, SelectionError, select
from slipway.staging.weights_prefix import PrefixError, WeightsPrefix, bucket_region
from slipway.weights.source import BrokenWeightsError
from slipway.weights.whole import WEIGHTS, demand_whole

_FIELD = "model.weights"
_ENTRIES = ("config.json", "serving.properties", "model_index.json")  # an engine needs one of them to find the model
_SHOWN = 3


def weights_in_bucket(deployment: Deployment, report: Report, account: Account) -> Iterator[Finding]:
    """Check that the bucket is in the region, and that the prefix holds one whole model and nothing else."""
    weights = deployment.model.weights or ""
    prefix = WeightsPrefix(account.clients("s3"), weights, None)
    try:
        there = region_of(prefix, account)
        if there not in (None, account.region):
            yield Finding(
                _FIELD,
                f"the bucket {prefix.bucket} is in {there}, but SageMaker reads from its own region, {account.region}",
                f"copy the weights to a bucket in {account.region}, or deploy in {there}",
            )
            return
        manifest, objects = prefix.manifest(), prefix.objects()
        if there is None:
            yield Finding(
                _FIELD,
                f"AWS does not tell us the region of the bucket {prefix.bucket}",
                level="unknown",
            )
    except PrefixError as error:
        yield Finding(_FIELD, str(error).removeprefix(f"{_FIELD}: "))
        return
    if manifest:
        found = list(_staged(deployment, manifest, objects))
    elif objects:
        found = list(_copied(deployment, weights, objects))
    else:
        fix = "copy the weights there, for example by `slipway stage <name>`"
        found = [Finding(_FIELD, f"{weights} holds no objects", fix)]
    yield from found
    is_changed = manifest and any(finding.level == "error" for finding in found)
    if objects and not is_changed:
        yield from _broken_files(prefix, objects, deployment.serving.engine)
    if deployment.lock and objects:
        yield from _other_than_locked(deployment.lock, weights, manifest, objects)


def region_of(prefix: WeightsPrefix, account: Account) -> str | None:
    """Return the bucket's region; None if AWS does not tell it.

    Another account's bucket may allow reads but not GetBucketLocation.
    """
    try:
        return bucket_region(account.clients("s3"), prefix.bucket)
    except ClientError as error:
        if error.response["Error"]["Code"] != "AccessDenied":
            raise
        return None


def _other_than_locked(
    lock: ModelLock, weights: str, manifest: Manifest | None, objects: Mapping[str, int]
) -> Iterator[Finding]:
    """Refuse files that differ from those of the lock, because the rules have judged the lock's files."""
    fix = "stage to a new prefix, or write the lock anew by `slipway lock <name>`"
    if manifest and lock.commit not in (None, manifest.commit):
        problem = f"{weights} holds commit {manifest.commit[:7]}, but the lock is for {str(lock.commit)[:7]}"
        yield Finding(_FIELD, problem, fix)
    elif other := list(differences(lock.files, objects)):
        yield Finding(_FIELD, f"{weights} differs from {lock.shape.source}: {_some(other)}", fix)


def _staged(deployment: Deployment, manifest: Manifest, objects: Mapping[str, int]) -> Iterator[Finding]:
    """Judge weights that `stage` copied. Their manifest tells whether they are complete."""
    model = deployment.model
    if manifest.state != "complete":
        yield Finding(
            _FIELD,
            f"the staging of {manifest.model} to {manifest.weights} is not complete",
            "run `slipway stage <name>` again to resume it",
        )
        return
    wanted = {file.path: file.size for file in manifest.files}
    wrong = sorted(path for path in wanted.keys() | objects.keys() if wanted.get(path) != objects.get(path))
    if wrong:
        yield Finding(
            _FIELD,
            f"{manifest.weights} is not as it was staged: {_some(wrong)} {_is_or_are(wrong)} missing or changed",
            "remove the prefix and its manifest, and stage again",
        )
    if manifest.model != model.id:
        yield Finding(
            _FIELD,
            f"{manifest.weights} was staged from {manifest.model}, not from {model.id}",
            "change model.id, or model.weights",
            level="warning",
        )
    elif model.revision not in (None, manifest.revision, manifest.commit) and not deployment.lock:
        yield Finding(
            "model.revision",
            f"{model.revision!r} is not in {manifest.weights}, which holds {manifest.revision} at {manifest.commit}",
            "stage to another prefix, or use that revision",
            level="warning",
        )


def _copied(deployment: Deployment, weights: str, objects: Mapping[str, int]) -> Iterator[Finding]:
    """Judge weights that another tool copied."""
    folders = sorted(path for path, count in objects.items() if not count and (path == "" or path.endswith("/")))
    if folders:
        named = _some([f"{weights}{path}" for path in folders])
        yield Finding(
            _FIELD,
            f"{named} {_is_or_are(folders)} empty, as the S3 console makes folders; SageMaker fails on such objects",
            "remove the objects that end in a slash",
        )
    apart = ("/", "config.json", *WEIGHTS)  # judged above or by `_broken_files`
    empty = sorted(path for path, count in objects.items() if not count and path and not path.endswith(apart))
    if any(path.endswith(".gguf") for path in objects) or deployment.serving.handler:
        return
    if not any(entry in objects for entry in _ENTRIES):
        below = sorted({path.rpartition("/")[0] for path in objects if path.rpartition("/")[2] in _ENTRIES})
        fix = f"name {weights}{below[0]}/" if below else "copy the model's config.json, too"
        yield Finding(_FIELD, f"{weights} holds no config.json, by which engines find the model", fix, level="warning")
    elif empty:
        yield Finding(
            _FIELD, f"{_some(empty)} {_is_or_are(empty)} empty", "copy the empty files again", level="warning"
        )


def _broken_files(prefix: WeightsPrefix, objects: Mapping[str, int], engine: str) -> Iterator[Finding]:
    """Refuse weights of which files are missing or cut, or are other things."""
    try:
        chosen = select([HubFile(path, count, "") for path, count in objects.items()], None, engine)
        files: Mapping[str, int] = {file.path: file.size for file in chosen}
    except SelectionError:  # in folders, several models, or of a format that only their engine knows
        files = objects
    try:
        demand_whole(prefix, files)
    except BrokenWeightsError as error:
        yield Finding(_FIELD, error.problem, error.fix)
    except ClientError as error:
        if error.response["Error"]["Code"] != "AccessDenied":
            raise
        problem = f"you may not read the objects in {prefix.weights}, so nobody knows whether they are whole"
        yield Finding(_FIELD, problem, "allow s3:GetObject there, and check again", level="unknown")


def _some(names: list[str]) -> str:
    more = len(names) - _SHOWN
    return ", ".join(names[:_SHOWN]) + (f" and {more:,} more" if more > 0 else "")


def _is_or_are(names: list[str]) -> str:
    return "is" if len(names) == 1 else "are"
