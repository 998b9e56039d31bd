"""Reads a model's files for a lock: from a repository of the Hub at one commit, a prefix in S3, or a folder."""

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

from llm_hosting.deployment.lock import HUB
from llm_hosting.deployment.printable import printable
from llm_hosting.resolution.memory import GB
from slipway.staging.hub_repository import FIX_ON_THE_HUB, HubRepository, checksum
from slipway.staging.manifest import Manifest
from slipway.staging.weight_files import HubFile
from slipway.staging.weights_prefix import WeightsPrefix
from slipway.weights.source import demand_no_disguise

_LARGEST_JSON_IN_BYTES = 64 * 1024 * 1024  # a tokenizer's file may be this long; files of settings are shorter
_READ_SOON_IN_BYTES = 10 * GB
_UNKNOWN = {"renamed_to": None, "gated": None, "license": None, "library": None, "pipeline_tag": None}


class UnreadableModelError(Exception):
    """The model's files hold no facts for a lock; the message is one sentence."""


class ModelFiles(Protocol):
    """The files of one model.

    source: for the lock; `HUB`, the prefix or `FOLDER`. place: for people. fix: what makes broken files whole, in the
    imperative. commit: of the Hub; None = not known.
    about: `renamed_to`, `gated`, `license`, `library` and `pipeline_tag`, as the Hub tells them.
    """

    source: str
    place: str
    fix: str
    commit: str | None
    about: Mapping[str, Any]
    files: Sequence[HubFile]

    def read(self, path: str, start: int, size: int, /) -> bytes:
        """Read these bytes of a file, fewer at its end. Raises HubError, boto3's errors or OSError."""

    def with_checksums(self, files: Sequence[HubFile]) -> Sequence[HubFile]:
        """The same files with checksums. Unknown checksums are computed, which takes time."""


class HubFiles:
    """The files of a repository on the Hub. Raises HubError."""

    source = HUB
    fix = FIX_ON_THE_HUB

    def __init__(self, repository: HubRepository, revision: str) -> None:
        self._repository = repository
        self.commit: str | None = repository.commit(revision)
        self.place = f"{repository.model_id} at {self.commit}"
        self.about: Mapping[str, Any] = repository.about
        repository.demand_access()
        self.files: Sequence[HubFile] = repository.files(self.commit or "")

    def read(self, path: str, start: int, size: int) -> bytes:
        """Read by range."""
        return self._repository.read(path, self.commit or "", start, size)

    def with_checksums(self, files: Sequence[HubFile]) -> Sequence[HubFile]:
        """The files with the Hub's own checksums."""
        return files


class BucketFiles:
    """The files below a prefix in S3. Their commit is known only if `slipway stage` put them there."""

    fix = WeightsPrefix.fix

    def __init__(self, prefix: WeightsPrefix, manifest: Manifest | None) -> None:
        self._prefix = prefix
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
        """Read by range."""
        return self._prefix.read(path, start, size)

    def with_checksums(self, files: Sequence[HubFile]) -> Sequence[HubFile]:
        """The files with the Hub's checksums if `stage` noted them, else with S3's ETags."""
        return files


class FolderFiles:
    """The files in a folder on this machine. Raises UnreadableModelError."""

    source = "folder"
    fix = WeightsPrefix.fix

    def __init__(self, folder: Path) -> None:
        if not folder.is_dir():
            raise UnreadableModelError(f"--folder: {folder} is not a folder.")
        self._folder, self.place = folder, str(folder)
        self.commit: str | None = None
        self.about: Mapping[str, Any] = _UNKNOWN
        names = sorted(each.relative_to(folder).as_posix() for each in folder.rglob("*") if each.is_file())
        self.files: Sequence[HubFile] = [
            HubFile(name, (folder / name).stat().st_size, "") for name in names if not name.startswith(".")
        ]

    def read(self, path: str, start: int, size: int) -> bytes:
        """Read by offset."""
        with (self._folder / path).open("rb") as file:
            file.seek(start)
            return file.read(size)

    def with_checksums(self, files: Sequence[HubFile]) -> Sequence[HubFile]:
        """The files with checksums as in git and Git LFS."""
        if (size := sum(file.size for file in files)) > _READ_SOON_IN_BYTES:
            print(f"reading {size / GB:,.0f} GB in {self.place} for their checksums ...", file=sys.stderr, flush=True)
        return [replace(file, checksum=checksum(self._folder / file.path, _algorithm(file.path))) for file in files]


def read_json(model: ModelFiles, path: str) -> dict[str, Any]:
    """Read a file that holds a JSON object, without control characters; an empty object = there is no file.

    Raises UnreadableModelError, BrokenWeightsError and the errors of `read`.
    """
    size = next((file.size for file in model.files if file.path == path), None)
    if size is None:
        return {}
    if not size:
        raise UnreadableModelError(f"{path} of {model.place} is empty.")
    if size > _LARGEST_JSON_IN_BYTES:
        raise UnreadableModelError(f"{path} of {model.place} has {size:,} bytes, too much for a file of settings.")
    text = model.read(path, 0, size)
    demand_no_disguise(model, path, text)
    try:
        content = printable(json.loads(text))
    except RecursionError:
        raise UnreadableModelError(f"{path} of {model.place} nests its settings deeper than any model.") from None
    except ValueError as error:
        raise UnreadableModelError(f"{path} of {model.place} is not JSON: {error}.") from None
    if not isinstance(content, dict):
        raise UnreadableModelError(f"{path} of {model.place} must hold a JSON object, not {type(content).__name__}.")
    return content


def _algorithm(path: str) -> str:
    return "git" if path.endswith((".json", ".txt", ".jinja", ".py")) else "sha256"
