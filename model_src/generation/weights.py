"""Downloads the model to $SLIPWAY_HOME/model, once: from the Hub at a revision, or from a prefix in S3."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from huggingface_hub import HfApi, snapshot_download
from huggingface_hub.utils.tqdm import disable_progress_bars

_FORMATS = ("*.safetensors", "*.bin")  # the first that the repository has; `slipway stage` chooses alike
_BESIDE_WEIGHTS = ("*.json", "*.txt", "*.model", "*.jinja")
_NOT_WEIGHTS = ("training_args.bin", "optimizer*", "scheduler*", "consolidated*")
_FILES_AT_ONCE = 8
_TRIES = 3  # for each object


class WeightsError(Exception):
    """The model cannot be downloaded; the message says why."""


def fetch(home: Path, variables: Mapping[str, str]) -> Path:
    """The folder with the model, which is downloaded unless it is there already.

    variables: MODEL_WEIGHTS is `s3://bucket/prefix/`, or a folder of this machine, which is linked. Without it the
    model comes from the Hub: MODEL_ID at MODEL_REVISION, with the token in the secret HUB_TOKEN_SECRET_ARN if set.

    Raises WeightsError, and the errors of botocore and huggingface_hub.
    """
    folder, part, weights = home / "model", home / "model.part", variables.get("MODEL_WEIGHTS", "")
    source = weights or f"{variables['MODEL_ID']} at {variables.get('MODEL_REVISION') or 'main'}"
    if (folder / ".source").exists() and (folder / ".source").read_text() == source:
        return folder
    _remove(folder)
    if weights and not weights.startswith("s3://"):
        folder.symlink_to(_model(Path(weights).resolve(), source))
        return folder
    part.mkdir(parents=True, exist_ok=True)
    if weights:
        _download_from_s3(weights, part)
    else:
        _download_from_hub(variables["MODEL_ID"], variables.get("MODEL_REVISION") or "main", _token(variables), part)
    (_model(part, source) / ".source").write_text(source)
    part.rename(folder)  # last: a broken download must not pass for a model
    return folder


def _model(folder: Path, source: str) -> Path:
    if not (folder / "config.json").is_file():
        raise WeightsError(f"{source} has no config.json, so transformers cannot load it")
    return folder


def chosen(names: Sequence[str]) -> list[str]:
    """The files of the top folder that transformers reads, with weights in one format. Raises WeightsError."""
    plain = [name for name in names if "/" not in name and not _fits(name, _NOT_WEIGHTS)]
    for form in _FORMATS:
        if weights := [name for name in plain if fnmatchcase(name, form)]:
            return weights + [name for name in plain if _fits(name, _BESIDE_WEIGHTS)]
    raise WeightsError("the repository holds no weights as *.safetensors or *.bin")


def _fits(name: str, patterns: Sequence[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def _download_from_hub(model: str, revision: str, token: str | None, folder: Path) -> None:
    disable_progress_bars()
    found = HfApi(token=token or False).model_info(model, revision=revision)
    print(f"{model} at {found.sha}", flush=True)
    names = chosen([each.rfilename for each in found.siblings or []])
    snapshot_download(model, revision=found.sha, token=token or False, local_dir=folder, allow_patterns=names)
    shutil.rmtree(folder / ".cache", ignore_errors=True)  # for resuming this download, which is done


def _token(variables: Mapping[str, str]) -> str | None:
    """The Hub token: the whole text of a secret in Secrets Manager."""
    secret = variables.get("HUB_TOKEN_SECRET_ARN")
    if not secret:
        return None
    client = _client("secretsmanager")
    return str(client.get_secret_value(SecretId=secret)["SecretString"]).strip()


def _download_from_s3(weights: str, folder: Path) -> None:
    bucket, _, prefix = weights.removeprefix("s3://").partition("/")
    prefix = prefix.rstrip("/") + "/"  # without the slash, models/opt would also match models/opt-30b
    s3 = _client("s3")
    pages = s3.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=prefix)
    keys = [each["Key"] for page in pages for each in page.get("Contents", []) if not each["Key"].endswith("/")]
    if not keys:
        raise WeightsError(f"no object has the prefix {weights}")

    def download(key: str) -> None:
        target = folder / key[len(prefix) :]
        if not target.resolve().is_relative_to(folder.resolve()):
            raise WeightsError(f"the key {key} names a file outside the model's folder")
        target.parent.mkdir(parents=True, exist_ok=True)
        _download_object(s3, bucket, key, target)

    with ThreadPoolExecutor(_FILES_AT_ONCE) as pool:
        list(pool.map(download, keys))


def _download_object(s3: Any, bucket: str, key: str, target: Path) -> None:
    """Download an object and try again if its body breaks off, which botocore does not repeat."""
    from botocore.exceptions import BotoCoreError

    for tries_left in reversed(range(_TRIES)):
        try:
            with target.open("wb") as file:
                shutil.copyfileobj(s3.get_object(Bucket=bucket, Key=key)["Body"], file, 1024 * 1024)
            return
        except BotoCoreError:
            if not tries_left:
                raise


def _client(service: str) -> Any:
    import botocore.session  # only weights and tokens in AWS need it

    region = os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION")
    return botocore.session.get_session().create_client(service, region_name=region)


def _remove(folder: Path) -> None:
    if folder.is_symlink():
        folder.unlink()
    elif folder.exists():
        shutil.rmtree(folder)
