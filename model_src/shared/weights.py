"""Finds the weights: in S3, on the Hub or in the archive. Rank 0 downloads them for all ranks."""

from __future__ import annotations

import logging
import os
import shutil
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Callable, Mapping

FOLDER = Path(tempfile.gettempdir()) / "model"  # /tmp is the NVMe disk of an instance that has one
DONE = FOLDER / "DONE"  # names the source that was downloaded
HUB_FILES = ["*.json", "*.pt", "*.bin", "*.txt", "*.model"]  # no weights of other libraries
FILES_AT_ONCE = 8
POLL_INTERVAL_IN_SECONDS = 0.2
LONGEST_WAIT_IN_SECONDS = 3600  # SageMaker's longest start-up timeout


class WeightsError(Exception):
    """The weights cannot be downloaded; the message names the source and the reason."""


def locate(properties: Mapping[str, Any]) -> str:
    """A folder or a Hub id, for `from_pretrained`.

    If MODEL_S3_BUCKET is set, the weights below MODEL_S3_PREFIX are downloaded. Otherwise `option.model_id` names the
    model; without it, the weights are in the archive. Raises WeightsError in every rank.
    """
    bucket = os.environ.get("MODEL_S3_BUCKET")
    if not bucket:
        return str(properties.get("model_id") or properties["model_dir"])
    prefix = os.environ.get("MODEL_S3_PREFIX", "").strip("/")
    prefix = prefix and prefix + "/"  # without the slash, models/opt would also match models/opt-30b
    _once(f"s3://{bucket}/{prefix}", lambda: _download_from_s3(bucket, prefix))
    return str(FOLDER)


def fetch(properties: Mapping[str, Any]) -> str:
    """Like `locate`, but always a folder, so that not every rank downloads from the Hub. Raises WeightsError."""
    name = locate(properties)
    if Path(name).is_dir():
        return name
    revision = properties.get("revision", "main")
    _once(f"{name} at {revision}", lambda: _download_from_hub(name, revision))
    return str(FOLDER)


def _once(source: str, download: Callable[[], None]) -> None:
    """Let rank 0 fill FOLDER while the others wait. Raises WeightsError in every rank."""
    if int(os.environ.get("LOCAL_RANK", "0")):
        _wait_for_rank_0(source)
    elif _done_with() != source:
        shutil.rmtree(FOLDER, ignore_errors=True)  # it may hold half a model or another one
        FOLDER.mkdir(parents=True)
        started = time.monotonic()
        try:
            download()
        except Exception as error:
            reason = f"{source} cannot be downloaded: {error}"
            _write(_failed(), reason)
            raise WeightsError(reason) from error
        _write(DONE, source)  # last, because it says that all files are there
        logging.info("%s downloaded in %.0f s", source, time.monotonic() - started)


def _wait_for_rank_0(source: str) -> None:
    """Wait for a marker file. Collectives time out after 30 minutes, hang if rank 0 fails, or are not ready yet."""
    deadline = time.monotonic() + LONGEST_WAIT_IN_SECONDS
    while _done_with() != source:
        if _failed().exists():
            raise WeightsError(f"rank 0 failed: {_failed().read_text()}")
        if time.monotonic() > deadline:
            raise WeightsError(f"rank 0 has not downloaded {source} within {LONGEST_WAIT_IN_SECONDS} s")
        time.sleep(POLL_INTERVAL_IN_SECONDS)


def _download_from_hub(name: str, revision: str) -> None:
    from huggingface_hub import snapshot_download

    found = snapshot_download(name, revision=revision, cache_dir=str(FOLDER / "hub"), allow_patterns=HUB_FILES)
    for path in Path(found).iterdir():
        (FOLDER / path.name).symlink_to(path.resolve())  # the links of the snapshot are relative


def _download_from_s3(bucket: str, prefix: str) -> None:
    """Download every object below the prefix, with its folders."""
    import boto3  # only for weights in S3
    from botocore.config import Config

    # SageMaker sets AWS_REGION, boto3 reads AWS_DEFAULT_REGION. Its default is to try for five minutes without a route.
    s3 = boto3.client("s3", region_name=os.environ.get("AWS_REGION"), config=Config(connect_timeout=5))
    pages = s3.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=prefix)
    sizes: dict[str, int] = {item["Key"]: item["Size"] for page in pages for item in page.get("Contents", [])}
    keys = [key for key in sizes if not key.endswith("/")]  # consoles create empty objects for folders
    if not keys:
        raise WeightsError("no object has this prefix")
    needed, free = sum(sizes.values()) / 1e9, shutil.disk_usage(str(FOLDER)).free / 1e9
    if needed > free:
        raise WeightsError(f"{needed:.0f} GB do not fit on the disk of {FOLDER}, which has {free:.0f} GB free")
    broken = threading.Event()

    def download(key: str) -> None:
        if broken.is_set():
            return
        target = FOLDER / key[len(prefix) :]
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            s3.download_file(bucket, key, str(target))
        except BaseException:
            broken.set()  # no further file begins
            raise

    with ThreadPoolExecutor(FILES_AT_ONCE) as pool:
        list(pool.map(download, keys))


def _done_with() -> str | None:
    return DONE.read_text() if DONE.exists() else None


def _failed() -> Path:
    """The marker of a failed download in this launch. All ranks share its name: parent process and port."""
    launch = f"{os.getppid()}-{os.environ.get('MASTER_PORT', '')}"
    return FOLDER.with_name(f"model-FAILED-{launch}")


def _write(marker: Path, text: str) -> None:
    """Write a marker atomically, so that other ranks never read half of it."""
    part = marker.with_name(marker.name + ".part")
    part.write_text(text)
    part.replace(marker)
