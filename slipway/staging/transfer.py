"""Downloads files from the Hub to disk and uploads their parts to S3, both in parallel.

It does not use s3transfer, which can neither resume a multipart upload of an earlier process nor leave one open.
"""

import errno
import shutil
import threading
from collections.abc import Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path

from llm_hosting.file_errors import why
from slipway.shared.sizes import size
from slipway.staging.hub_errors import HubError
from slipway.staging.hub_repository import HubRepository
from slipway.staging.manifest import StagedFile
from slipway.staging.progress import StagingProgress
from slipway.staging.weight_files import HubFile
from slipway.staging.weights_prefix import WeightsPrefix

FILES_AT_ONCE = 4
PARTS_AT_ONCE = 8  # each in memory, usually 16 MiB
_KEPT_FREE_IN_BYTES = 1_000_000_000


class TransferError(Exception):
    """A file could not be moved; the message is one sentence."""


class _Stopped(Exception):
    """Another file has failed, so this one stops."""


@dataclass(frozen=True)
class Task:
    """A file and the numbers of the parts that S3 lacks."""

    file: StagedFile
    missing: tuple[int, ...]

    @property
    def size(self) -> int:
        """Bytes to send."""
        return sum(self.file.part(number)[1] for number in self.missing)


class Transfer:
    """Sends a file after its checksum is verified, and removes it from the folder when S3 holds every part.

    folder: for downloads; whole files of an earlier run are used again.
    """

    def __init__(
        self, repository: HubRepository, commit: str, prefix: WeightsPrefix, folder: Path, progress: StagingProgress
    ) -> None:
        self._repository, self._commit, self._prefix = repository, commit, prefix
        self._folder, self._progress = folder, progress
        self._stopping = threading.Event()
        self._parts = ThreadPoolExecutor(PARTS_AT_ONCE)

    def run(self, tasks: Sequence[Task]) -> None:
        """Move all files. Returns when S3 holds every part. Raises HubError, TransferError or boto3's errors; S3
        keeps its parts.
        """
        files = ThreadPoolExecutor(_files_that_fit(tasks, self._folder))
        try:
            self._join([files.submit(self._move, task) for task in tasks])
        finally:
            self._stopping.set()
            files.shutdown(wait=False, cancel_futures=True)
            self._parts.shutdown(wait=False, cancel_futures=True)

    def _move(self, task: Task) -> None:
        self._go_on()
        path = self._download(task.file)
        self._join([self._parts.submit(self._send, task.file, number, path) for number in task.missing])
        path.unlink()
        self._progress.stored(task.file.path)

    def _download(self, file: StagedFile) -> Path:
        came = 0

        def count(more: int) -> None:
            nonlocal came
            self._go_on()
            came += more
            self._progress.downloaded(more)

        try:
            wanted = HubFile(file.path, file.size, file.hub_checksum)
            path = self._repository.download(wanted, self._commit, self._folder, count)
        except OSError as error:
            if error.errno == errno.ENOSPC:
                raise TransferError(_full(self._folder)) from None
            place = f"{error.filename} can't be written: " if error.filename else ""
            reason = f"{place}{' '.join(why(error).split())}"
            raise HubError(f"{file.path} could not be downloaded: {reason}") from None
        # An earlier run left the file, or the library counted less than its size.
        self._progress.downloaded(file.size - came)
        return path

    def _send(self, file: StagedFile, number: int, path: Path) -> None:
        self._go_on()
        offset, length = file.part(number)
        with path.open("rb") as source:
            source.seek(offset)
            self._prefix.send(file, number, source.read(length))
        self._progress.sent(length)

    def _go_on(self) -> None:
        if self._stopping.is_set():
            raise _Stopped

    def _join(self, futures: Sequence[Future[None]]) -> None:
        """Wait for all. The first failure cancels the others and is raised."""
        wait(futures, return_when=FIRST_EXCEPTION)
        if any(future.done() and future.exception() for future in futures):
            self._stopping.set()
        wait(futures)
        errors = [error for future in futures if (error := future.exception())]
        if errors:
            raise next((error for error in errors if not isinstance(error, _Stopped)), errors[0])


def _files_that_fit(tasks: Sequence[Task], folder: Path) -> int:
    """How many files fit on the disk at a time. Raises TransferError if none does."""
    free = shutil.disk_usage(folder).free - _KEPT_FREE_IN_BYTES
    largest = sorted((task.file.size for task in tasks), reverse=True)
    for count in range(min(FILES_AT_ONCE, len(largest)), 0, -1):
        if sum(largest[:count]) <= free:
            return count
    raise TransferError(f"{_full(folder)} The largest file has {size(largest[0])}.")


def _full(folder: Path) -> str:
    free = size(shutil.disk_usage(folder).free)
    return (
        f"{folder} has only {free} free: name a folder on a larger disk with --folder, or let AWS do it "
        "(docs/weights.md, step 3)."
    )
