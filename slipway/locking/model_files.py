"""Where a lock reads a model: a repository of the Hub at one commit, a prefix in S3, or a folder."""

import json
import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

from llm_hosting.deployment.lock import HUB
from llm_hosting.resolution.memory import GB
from slipway.staging.hub_repository import HubRepository, checksum
from slipway.staging.manifest import Manifest
from slipway.staging.weight_files import HubFile
from slipway.staging.weights_prefix import WeightsPrefix

_LARGEST_JSON_IN_BYTES = 64 * 1024 * 1024  # a tokenizer's; anything longer is no file of settings
_READ_SOON_IN_BYTES = 10 * GB
_UNKNOWN = {"renamed_to": None, "gated": False, "license": None, "library": None, "pipeline_tag": None}


class UnreadableModelError(Exception):
    """The model's files say nothing that a lock could hold; the message is one sentence."""


class ModelFiles(Protocol):
    """The files of one model.

    source: for the lock; `HUB`, the prefix or `FOLDER`. place: for people. commit: of the Hub; None = not known.
    about: `renamed_to`, `gated`, `license`, `library` and `pipeline_tag`, as the Hub says.
    """

    source: str
    place: str
    commit: str | None
    about: Mapping[str, Any]
    files: Sequence[HubFile]

    def read(self, path: str, start: int, size: int) -> bytes:
        """These bytes of a file, fewer at its end. Raises HubError, boto3's errors or OSError."""

    def with_checksums(self, files: Sequence[HubFile]) -> Sequence[HubFile]:
        """The same files; where nobody knows their checksums, they are computed, which takes time."""


class HubFiles:
    """Raises HubError."""

    source = HUB

    def __init__(self, repository: HubRepository, revision: str) -> None:
        self._repository = repository
        self.commit: str | None = repository.commit(revision)
        self.place = f"{repository.model_id} at {self.commit}"
        self.about: Mapping[str, Any] = repository.about
        repository.demand_access()
        self.files: Sequence[HubFile] = repository.files(self.commit or "")

    def read(self, path: str, start: int, size: int) -> bytes:
        """By range."""
        return self._repository.read(path, self.commit or "", start, size)

    def with_checksums(self, files: Sequence[HubFile]) -> Sequence[HubFile]:
        """The Hub's own."""
        return files


class BucketFiles:
    """A prefix, whose objects are those of a commit only if `slipway stage` put them there."""

    def __init__(self, s3: Any, prefix: WeightsPrefix, manifest: Manifest | None) -> None:
        self._s3, self._prefix = s3, prefix
        self.source = self.place = prefix.weights
        self.about: Mapping[str, Any] = _UNKNOWN
        self.commit = manifest.commit if manifest else None
        staged = {file.path: file.hub_checksum for file in manifest.files} if manifest else {}
        self.files: Sequence[HubFile] = [
            HubFile(path, each["Size"], staged.get(path) or f"etag:{each['ETag'].strip(chr(34))}")
            for path, each in prefix.listed().items()
            if path and not path.endswith("/")
        ]

    def read(self, path: str, start: int, size: int) -> bytes:
        """By range."""
        key = self._prefix.key(path)
        answer = self._s3.get_object(Bucket=self._prefix.bucket, Key=key, Range=f"bytes={start}-{start + size - 1}")
        body: bytes = answer["Body"].read()
        return body

    def with_checksums(self, files: Sequence[HubFile]) -> Sequence[HubFile]:
        """The Hub's own where `stage` noted them, else S3's ETags."""
        return files


class FolderFiles:
    """A folder of this machine. Raises UnreadableModelError."""

    source = "folder"

    def __init__(self, folder: Path) -> None:
        if not folder.is_dir():
            raise UnreadableModelError(f"--folder: {folder} is no folder.")
        self._folder, self.place = folder, str(folder)
        self.commit: str | None = None
        self.about: Mapping[str, Any] = _UNKNOWN
        names = sorted(each.relative_to(folder).as_posix() for each in folder.rglob("*") if each.is_file())
        self.files: Sequence[HubFile] = [
            HubFile(name, (folder / name).stat().st_size, "") for name in names if not name.startswith(".")
        ]

    def read(self, path: str, start: int, size: int) -> bytes:
        """By offset."""
        with (self._folder / path).open("rb") as file:
            file.seek(start)
            return file.read(size)

    def with_checksums(self, files: Sequence[HubFile]) -> Sequence[HubFile]:
        """Those of git and of Git LFS."""
        if (size := sum(file.size for file in files)) > _READ_SOON_IN_BYTES:
            print(f"reading {size / GB:,.0f} GB in {self.place} for their checksums ...", file=sys.stderr, flush=True)
        return [replace(file, checksum=checksum(self._folder / file.path, _algorithm(file.path))) for file in files]


def read_json(model: ModelFiles, path: str) -> dict[str, Any]:
    """A file with an object; empty = there is none. Raises UnreadableModelError, and what `read` raises."""
    size = next((file.size for file in model.files if file.path == path), 0)
    if not size:
        return {}
    if size > _LARGEST_JSON_IN_BYTES:
        raise UnreadableModelError(f"{path} of {model.place} has {size:,} bytes, which is no file of settings.")
    try:
        content = json.loads(model.read(path, 0, size), parse_constant=_finite, parse_float=_finite)
    except (ValueError, RecursionError) as error:
        raise UnreadableModelError(f"{path} of {model.place} is no JSON: {error}.") from None
    if not isinstance(content, dict):
        raise UnreadableModelError(f"{path} of {model.place} holds no object, but {type(content).__name__}.")
    return content


def _algorithm(path: str) -> str:
    return "git" if path.endswith((".json", ".txt", ".jinja", ".py")) else "sha256"


def _finite(text: str) -> float | None:
    """None for what no JSON file may hold, and Python writes all the same: `Infinity` as a limit of Nemotron-H."""
    number = float(text)
    return number if math.isfinite(number) else None
