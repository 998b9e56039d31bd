"""Finds the weights: in S3, on the Hub, or in the archive. What is downloaded, rank 0 downloads for all ranks."""

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
DONE = FOLDER / "DONE"  # holds what was downloaded
HUB_FILES = ["*.json", "*.pt", "*.bin", "*.txt", "*.model"]  # not the same weights again, for other libraries
FILES_AT_ONCE = 8
POLL_INTERVAL_IN_SECONDS = 0.2
LONGEST_WAIT_IN_SECONDS = 3600  # SageMaker's longest start-up timeout


class WeightsError(Exception):
    """The weights cannot be had; the message says from where and why."""


def locate(properties: Mapping[str, Any]) -> str:
    """A folder, or a model's name on the Hub: both are for `from_pretrained`.

    MODEL_S3_BUCKET and MODEL_S3_PREFIX name weights in S3, which are downloaded now; else `option.model_id` names the
    model; else the weights lie beside this file. Raises WeightsError, in every rank.
    """
    bucket = os.environ.get("MODEL_S3_BUCKET")
    if not bucket:
        return str(properties.get("model_id") or properties["model_dir"])
    prefix = os.environ.get("MODEL_S3_PREFIX", "").strip("/")
    prefix = prefix and prefix + "/"  # without the slash, models/opt would also match models/opt-30b
    _once(f"s3://{bucket}/{prefix}", lambda: _download_from_s3(bucket, prefix))
    return str(FOLDER)


def fetch(properties: Mapping[str, Any]) -> str:
    """As `locate`, but a folder in any case: many ranks would ask the Hub for the same files. Raises WeightsError."""
    name = locate(properties)
    if Path(name).is_dir():
        return name
    revision = properties.get("revision", "main")
    _once(f"{name} at {revision}", lambda: _download_from_hub(name, revision))
    return str(FOLDER)


def _once(source: str, download: Callable[[], None]) -> None:
    """Fill FOLDER in rank 0, and wait for that in the others. Raises WeightsError in all of them."""
    if int(os.environ.get("LOCAL_RANK", "0")):
        _wait_for_rank_0(source)
    elif _done_with() != source:
        shutil.rmtree(FOLDER, ignore_errors=True)  # what an earlier attempt left may be half a model, or another one
        FOLDER.mkdir(parents=True)
        started = time.monotonic()
        try:
            download()
        except Exception as error:
            reason = f"{source} cannot be downloaded: {error}"
            _write(_failed(), reason)
            raise WeightsError(reason) from error
        _write(DONE, source)  # last, and only now: whoever finds it finds everything
        logging.info("%s downloaded in %.0f s", source, time.monotonic() - started)


def _wait_for_rank_0(source: str) -> None:
    """By files: collectives give up after 30 minutes, hang when rank 0 fails, and are set up later by some engines."""
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
        (FOLDER / path.name).symlink_to(path.resolve())  # the snapshot's own links are relative


def _download_from_s3(bucket: str, prefix: str) -> None:
    """Every object below the prefix, its folders kept."""
    import boto3  # here: weights on the Hub need none
    from botocore.config import Config

    # SageMaker sets AWS_REGION, boto3 reads AWS_DEFAULT_REGION. Without a route to S3 it would try for five minutes.
    s3 = boto3.client("s3", region_name=os.environ.get("AWS_REGION"), config=Config(connect_timeout=5))
    pages = s3.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=prefix)
    sizes: dict[str, int] = {item["Key"]: item["Size"] for page in pages for item in page.get("Contents", [])}
    keys = [key for key in sizes if not key.endswith("/")]  # consoles make empty objects for folders
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
            broken.set()  # the files that have not begun need not
            raise

    with ThreadPoolExecutor(FILES_AT_ONCE) as pool:
        list(pool.map(download, keys))


def _done_with() -> str | None:
    return DONE.read_text() if DONE.exists() else None


def _failed() -> Path:
    """Named by what the ranks of one launch share, its process and port: what an earlier launch left means nothing."""
    launch = f"{os.getppid()}-{os.environ.get('MASTER_PORT', '')}"
    return FOLDER.with_name(f"model-FAILED-{launch}")


def _write(marker: Path, text: str) -> None:
    """At once: the other ranks must never read half of it."""
    part = marker.with_name(marker.name + ".part")
    part.write_text(text)
    part.replace(marker)
