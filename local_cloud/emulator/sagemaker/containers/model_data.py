"""Fetches the content of /opt/ml/model: the objects below an S3 prefix, or an unpacked archive."""

import contextlib
import gzip
import math
import shutil
import tarfile
import tempfile
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from botocore.exceptions import ClientError

from local_cloud.emulator.sagemaker.containers.instance import ContainerStartError
from local_cloud.emulator.services import iam


class _UnusableDataError(Exception):
    """Model data that cannot be stored in a folder."""


def fetch_model_data(role_arn: str, container: dict[str, Any], *, most_bytes: float = math.inf) -> Path | None:
    """Download the container's model data as the role; None if it has none. Raises ContainerStartError.

    most_bytes: the most that the data may take when it is unpacked.
    """
    if not (source := container.get("ModelDataSource", {}).get("S3DataSource")):
        return None
    uri = source["S3Uri"]
    bucket, _, key = uri.removeprefix("s3://").partition("/")
    folder = Path(tempfile.mkdtemp(prefix="slipway-model-"))
    try:
        with contextlib.closing(iam.client_as_role("s3", role_arn)) as s3:
            if source["CompressionType"] == "Gzip":
                _unpack(s3, bucket, key, folder, most_bytes)
            else:
                _download(s3, bucket, key, folder, most_bytes)
    except (tarfile.TarError, gzip.BadGzipFile, zlib.error, EOFError) as error:
        shutil.rmtree(folder)
        raise ContainerStartError(
            f'Failed to extract model data archive from URL "{uri}". Please ensure that the object located at the URL '
            f"is a valid tar.gz archive. ({error})"
        ) from error
    except (ClientError, _UnusableDataError) as error:
        shutil.rmtree(folder)
        reason = error.response["Error"]["Code"] if isinstance(error, ClientError) else str(error)
        raise ContainerStartError(
            f'Failed to download model data for container "container_1" from URL: "{uri}". Please ensure that there is '
            "an object located at the URL and that the role passed to CreateModel has permissions to download the "
            f"object. ({reason})"
        ) from error
    return folder


def _unpack(s3: Any, bucket: str, key: str, folder: Path, most_bytes: float) -> None:
    with tempfile.TemporaryFile() as archive:
        s3.download_fileobj(bucket, key, archive)
        archive.seek(0)
        with tarfile.open(fileobj=archive, mode="r:gz") as members:
            _demand_size((member.size for member in members), most_bytes)
            # The filter refuses paths and links that lead out of the folder.
            members.extractall(folder, filter="data")


def _demand_size(sizes: Iterable[int], most_bytes: float) -> None:
    """Refuse sizes whose sum is above `most_bytes`, without reading further."""
    total = 0
    for size in sizes:
        total += size
        if total > most_bytes:
            raise _UnusableDataError(f"it holds more than {most_bytes:.0f} bytes")


def _download(s3: Any, bucket: str, prefix: str, folder: Path, most_bytes: float) -> None:
    pages = s3.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=prefix)
    items = [item for page in pages for item in page.get("Contents", [])]
    _demand_size((item["Size"] for item in items), most_bytes)
    keys = [item["Key"] for item in items]
    if not keys:
        raise _UnusableDataError("no object has this prefix")
    for key in keys:
        target = (folder / key.removeprefix(prefix)).resolve()
        if key.endswith("/") or not target.is_relative_to(folder.resolve()):
            raise _UnusableDataError(f"the object {key} is not a file below the prefix")
        target.parent.mkdir(parents=True, exist_ok=True)
        s3.download_file(bucket, key, str(target))
