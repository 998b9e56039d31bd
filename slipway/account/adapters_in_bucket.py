"""Checks that each adapter of `model.adapters` lies in S3 as SageMaker loads it."""

from collections.abc import Iterator

from botocore.exceptions import ClientError

from llm_hosting.deployment.finding import Finding
from llm_hosting.deployment.model import Deployment
from llm_hosting.deployment.settings.model import archive_of_adapter
from llm_hosting.preflight.report import Report
from slipway.account.account import Account
from slipway.account.weights_in_bucket import region_of
from slipway.locking.file_summary import differences
from slipway.staging.weights_prefix import PrefixError, WeightsPrefix
from slipway.weights.adapter import read_adapter
from slipway.weights.source import BrokenWeightsError

_STAGE = "run `slipway stage <name>`"


def adapters_in_bucket(deployment: Deployment, report: Report, account: Account) -> Iterator[Finding]:
    """Check that the bucket is in the region, the files are a whole adapter, and the archive is beside them."""
    for name, source in deployment.model.adapters.items():
        if source.startswith("s3://"):
            yield from _judged(deployment, name, WeightsPrefix(account.clients("s3"), source, None), account)


def _judged(deployment: Deployment, name: str, prefix: WeightsPrefix, account: Account) -> Iterator[Finding]:
    field, lock = f"model.adapters.{name}", deployment.lock.adapters.get(name) if deployment.lock else None
    try:
        there, sizes = region_of(prefix, account), prefix.objects()
        if there not in (None, account.region):
            problem = f"the bucket {prefix.bucket} is in {there}, but SageMaker reads from its own region"
            yield Finding(field, f"{problem}, {account.region}", f"stage to a bucket in {account.region}")
            return
        if not sizes:
            yield Finding(field, f"{prefix.weights} holds no objects", f"copy the adapter there, and {_STAGE}")
            return
        read_adapter(prefix, sizes)
        if lock and (
            other := list(differences(lock.files, {path: sizes[path] for path in lock.files if path in sizes}))
        ):
            problem = f"{prefix.weights} differs from the lock: {', '.join(other)}"
            yield Finding(field, problem, "stage to a new prefix, or write the lock anew by `slipway lock <name>`")
        elif not prefix.holds(archive_of_adapter(prefix.weights)):
            yield Finding(field, f"{archive_of_adapter(prefix.weights)}, which SageMaker loads, is missing", _STAGE)
    except PrefixError as error:
        yield Finding(field, str(error).removeprefix("model.weights: ").rstrip("."))
    except BrokenWeightsError as error:
        yield Finding(field, error.problem, error.fix)
    except ClientError as error:
        if error.response["Error"]["Code"] != "AccessDenied":
            raise
        problem = f"you may not read the objects in {prefix.weights}, so nobody knows whether they are whole"
        yield Finding(field, problem, "allow s3:GetObject there, and check again", level="unknown")
