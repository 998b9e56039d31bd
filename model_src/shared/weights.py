"""Finds the weights in S3, on the Hub or in the archive; rank 0 downloads for all ranks."""

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

FOLDER = Path(tempfile.gettempdir()) / "model"  # /tmp is the instance's own NVMe disk where it has one
DONE = FOLDER / "DONE"  # names the source that was downloaded
HUB_FILES = ["*.json", "*.pt", "*.bin", "*.txt", "*.model"]  # not the weights of other libraries
FILES_AT_ONCE = 8
POLL_INTERVAL_IN_SECONDS = 0.2
LONGEST_WAIT_IN_SECONDS = 3600  # SageMaker's longest start-up timeout


class WeightsError(Exception):
    """The weights cannot be downloaded; the message names the source and the reason."""


def locate(properties: Mapping[str, Any]) -> str:
    """A folder or a Hub id, for `from_pretrained`.

    Downloads the weights of MODEL_S3_BUCKET and MODEL_S3_PREFIX if they are set; else `option.model_id` names the
    model; else the weights are in the archive. Raises WeightsError in every rank.
    """
    bucket = os.environ.get("MODEL_S3_BUCKET")
    if not bucket:
        return str(properties.get("model_id") or properties["model_dir"])
    prefix = os.environ.get("MODEL_S3_PREFIX", "").strip("/")
    prefix = prefix and prefix + "/"  # without the slash, models/opt would also match models/opt-30b
    _once(f"s3://{bucket}/{prefix}", lambda: _download_from_s3(bucket, prefix))
    return str(FOLDER)


def fetch(properties: Mapping[str, Any]) -> str:
    """As `locate`, but always a folder, so that ranks do not download from the Hub one by one. Raises WeightsError."""
    name = locate(properties)
    if Path(name).is_dir():
        return name
    revision = properties.get("revision", "main")
    _once(f"{name} at {revision}", lambda: _download_from_hub(name, revision))
    return str(FOLDER)


def _once(source: str, download: Callable[[], None]) -> None:
    """Rank 0 fills FOLDER, the others wait. Raises WeightsError in every rank."""
    if int(os.environ.get("LOCAL_RANK", "0")):
        _wait_for_rank_0(source)
    elif _done_with() != source:
        shutil.rmtree(FOLDER, ignore_errors=True)  # may hold half a model, or another one
        FOLDER.mkdir(parents=True)
        started = time.monotonic()
        try:
            download()
        except Exception as error:
            reason = f"{source} cannot be downloaded: {error}"
            _write(_failed(), reason)
            raise WeightsError(reason) from error
        _write(DONE, source)  # last, so that it vouches for all files
        logging.info("%s downloaded in %.0f s", source, time.monotonic() - started)


def _wait_for_rank_0(source: str) -> None:
    """By marker files: collectives time out after 30 minutes, hang if rank 0 fails, and start later in some engines."""
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

    # SageMaker sets AWS_REGION, boto3 reads AWS_DEFAULT_REGION. By default it tries for five minutes without a route.
    s3 = boto3.client("s3", region_name=os.environ.get("AWS_REGION"), config=Config(connect_timeout=5))
    pages = s3.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=prefix)
    sizes: dict[str, int] = {item["Key"]: item["Size"] for page in pages for item in page.get("Contents", [])}
    keys = [key for key in sizes if not key.endswith("/")]  # consoles create empty objects as folders
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
            broken.set()  # stops files that have not begun
            raise

    with ThreadPoolExecutor(FILES_AT_ONCE) as pool:
        list(pool.map(download, keys))


def _done_with() -> str | None:
    return DONE.read_text() if DONE.exists() else None


def _failed() -> Path:
    """The failure marker of this launch, named by parent process and port, which all its ranks share."""
    launch = f"{os.getppid()}-{os.environ.get('MASTER_PORT', '')}"
    return FOLDER.with_name(f"model-FAILED-{launch}")


def _write(marker: Path, text: str) -> None:
    """Atomically, so that other ranks never read half of it."""
    part = marker.with_name(marker.name + ".part")
    part.write_text(text)
    part.replace(marker)
