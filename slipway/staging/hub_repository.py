"""A model's repository on the Hugging Face Hub: its files, access to them, verified downloads."""

import hashlib
import os
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from httpx2 import HTTPError
from huggingface_hub import HfApi, hf_hub_url
from huggingface_hub.hf_api import RepoFile
from huggingface_hub.utils import (  # type: ignore[attr-defined]
    build_hf_headers,
    hf_raise_for_status,
    http_stream_backoff,
)
from huggingface_hub.utils.tqdm import tqdm

from slipway.staging.hub_client import NoHubError, SlowAnswerError, set_limits
from slipway.staging.hub_errors import CutError, HubError, explained
from slipway.staging.hub_retries import say
from slipway.staging.weight_files import HubFile

FIX_ON_THE_HUB = "name another commit with model.revision, or upload its files again"
_BLOCK = 8 * 1024 * 1024
_PARTIAL_CONTENT = 206
_READS = 3
set_limits()


class HubRepository:
    """A repository on the Hub. HF_ENDPOINT names another Hub.

    token: None = HF_TOKEN, else the token that `hf auth login` stored.
    """

    def __init__(self, model_id: str, token: str | None = None) -> None:
        self.model_id = model_id
        self._api = HfApi(os.environ.get("HF_ENDPOINT"), token=token, library_name="slipway")
        self.about: dict[str, Any] = {}

    def commit(self, revision: str) -> str:
        """The commit id of a branch, tag or commit. Afterwards `about` holds the Hub's description. Raises HubError."""
        with self._explained(revision):
            model = self._api.model_info(self.model_id, revision=revision)
        self.about = {
            "renamed_to": model.id if model.id != self.model_id else None,
            "gated": bool(model.gated),
            "license": getattr(model.card_data, "license", None),
            "library": model.library_name,
            "pipeline_tag": model.pipeline_tag,
        }
        if model.sha is None:
            raise HubError(f"{self._api.endpoint} does not say which commit {revision} of {self.model_id} is.")
        return model.sha

    def files(self, commit: str) -> list[HubFile]:
        """All files of a commit. Raises HubError."""
        with self._explained(commit):
            entries = list(self._api.list_repo_tree(self.model_id, revision=commit, recursive=True))
            files = [entry for entry in entries if isinstance(entry, RepoFile)]
            if not all(isinstance(file.path, str) and type(file.size) is int and file.size >= 0 for file in files):
                raise NoHubError("it lists files without a path or a size")
        return [
            HubFile(file.path, file.size, f"sha256:{file.lfs.sha256}" if file.lfs else f"git:{file.blob_id}")
            for file in files
        ]

    def demand_access(self) -> None:
        """Raise HubError without read access. Listing the files of a gated model needs no access."""
        if self.about.get("gated"):
            with self._explained():
                self._api.auth_check(self.model_id)

    def download(self, file: HubFile, commit: str, folder: Path, count: Callable[[int], None]) -> Path:
        """Download a file below the folder, unless it is there already, and verify the Hub's checksum.

        count: called with the number of bytes of each chunk; an exception from it ends the download.
        Raises HubError; a corrupt file is removed.
        """
        with self._explained():
            path = Path(
                self._api.hf_hub_download(
                    self.model_id, file.path, revision=commit, local_dir=folder, tqdm_class=_counting(count)
                )
            )
        if (found := checksum(path, file.checksum.partition(":")[0])) != file.checksum:
            path.unlink()
            raise HubError(
                f"{file.path} is corrupt as it came from the Hub: its checksum is {found}, and the Hub says "
                f"{file.checksum}; it was removed, and nothing of it was sent to S3."
            )
        return path

    def read(self, path: str, commit: str, start: int, size: int) -> bytes:
        """Read these bytes of a file, fewer at its end, even if the server sends the whole file. Raises HubError.

        A broken answer is requested again here. The library repeats requests without an answer.
        """
        for _ in range(_READS - 1):
            try:
                return self._read(path, commit, start, size)
            except CutError:
                say(self._api.endpoint, f"has cut {path} off: asking again")
        return self._read(path, commit, start, size)

    def _read(self, path: str, commit: str, start: int, size: int) -> bytes:
        url = hf_hub_url(self.model_id, path, revision=commit, endpoint=self._api.endpoint)
        headers = build_hf_headers(token=self._api.token, library_name="slipway")
        # In a compressed answer the range would not be a range of the file.
        headers |= {"range": f"bytes={start}-{start + size - 1}", "accept-encoding": "identity"}
        held = bytearray()
        with self._explained(), http_stream_backoff("GET", url, headers=headers) as answer:
            hf_raise_for_status(answer)
            before = 0 if answer.status_code == _PARTIAL_CONTENT else start
            try:
                for piece in answer.iter_bytes():
                    held += piece
                    if len(held) >= before + size:
                        break
            except SlowAnswerError:
                raise
            except HTTPError as error:  # the library repeats only requests without an answer
                raise RuntimeError(f"{path} was cut off: {error or type(error).__name__}") from None
        return bytes(held[before : before + size])

    def _explained(self, revision: str = "") -> AbstractContextManager[None]:
        has_token = "authorization" in build_hf_headers(token=self._api.token)
        return explained(self._api.endpoint, self.model_id, revision, has_token=has_token)


def checksum(path: Path, algorithm: str) -> str:
    """`sha256:...` or `git:...` of a file; git hashes the object type and the size before the bytes."""
    digest = hashlib.sha256() if algorithm == "sha256" else hashlib.sha1(b"blob %d\0" % path.stat().st_size)
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            digest.update(block)
    return f"{algorithm}:{digest.hexdigest()}"


def _counting(count: Callable[[int], None]) -> type[tqdm]:
    """A tqdm class that reports bytes to `count` and shows nothing."""

    class Counting(tqdm):
        def __init__(self, *args: Any, **settings: Any) -> None:
            super().__init__(*args, **settings | {"disable": True})  # type: ignore[no-untyped-call]

        def update(self, n: float | None = 1) -> None:
            count(int(n or 0))

        def update_transfer(self, n: float | None = 1) -> None:
            """Ignored: Xet's bytes on the wire."""

        def set_transfer_postfix_str(self, *_: Any, **__: Any) -> None:
            """Ignored: Xet's transfer speed."""

    return Counting
