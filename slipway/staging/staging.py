"""One staging: chooses the files, resumes an earlier run, uploads, makes the files visible."""

import contextlib
import re
import shutil
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock, Timeout

from llm_hosting.deployment.model import Deployment
from llm_hosting.deployment.settings.model import Model
from slipway.shared.sizes import size
from slipway.staging.hub_repository import FIX_ON_THE_HUB, HubRepository
from slipway.staging.manifest import Manifest, StagedFile
from slipway.staging.progress import StagingProgress
from slipway.staging.transfer import PARTS_AT_ONCE, Task, Transfer
from slipway.staging.weight_files import HubFile, select
from slipway.staging.weights_prefix import WeightsPrefix, checksum_of_parts
from slipway.weights.whole import demand_whole

_COMMIT = re.compile("[0-9a-f]{40}")


@dataclass
class AtCommit:
    """The files of a commit, as the checks of weights read them."""

    repository: HubRepository
    commit: str
    fix: str = FIX_ON_THE_HUB

    @property
    def place(self) -> str:
        return f"{self.repository.model_id} at {self.commit}"

    def read(self, path: str, start: int, size: int, /) -> bytes:
        return self.repository.read(path, self.commit, start, size)


class StagingError(Exception):
    """The weights can't be staged there; the message is one sentence."""


def stage(deployment: Deployment, repository: HubRepository, prefix: WeightsPrefix, folder: Path) -> None:
    """Upload every file, then make all of them visible; resumes an earlier run.

    Prints its progress. Raises StagingError, SelectionError, BrokenWeightsError, HubError, TransferError, PrefixError
    or boto3's errors; after any of them the same call resumes.
    """
    model = deployment.model
    manifest = prefix.manifest()
    commit = _commit(repository, model, manifest)
    listed = repository.files(commit)
    files = _files(listed, deployment)
    if name := repository.about["renamed_to"]:
        print(f"{model.id} is named {name} on the Hub now.")
    print(f"{model.id} at {commit}: {len(files)} files, {size(sum(file.size for file in files))}, to {prefix.weights}")
    visible = _visible(prefix, files, manifest)
    if manifest and manifest.state == "complete" and len(visible) == len(files):
        for file in manifest.files:
            prefix.demand(file)
        print("Nothing to do: all files are there and complete.")
        return
    repository.demand_access()
    with _locked(folder / model.id.replace("/", "--") / commit) as downloads:
        if manifest is None:
            source = AtCommit(repository, commit)
            demand_whole(source, {file.path: file.size for file in files}, [file.path for file in listed])
        manifest, tasks = _begin(prefix, manifest, files, visible, model, commit)
        manifest = _upload(repository, prefix, manifest, tasks, visible, downloads)
        _complete(prefix, manifest, visible)
    print(f"Complete: {prefix.weights} can be deployed. {prefix.manifest_uri} says what it holds.")
    if model.revision != commit:
        print(f"To name this commit in the deployment file: revision: {commit}")


def abandon(prefix: WeightsPrefix) -> None:
    """Abort a staging before any file is visible, so that no part is billed. Raises StagingError."""
    manifest = prefix.manifest()
    if manifest is None:
        raise StagingError(f"Nothing is being staged to {prefix.weights}.")
    if prefix.objects():
        raise StagingError(
            f"{prefix.weights} holds objects already, and a deployment may use them; if none does, remove them and "
            f"{prefix.manifest_uri}."
        )
    for file in manifest.files:
        prefix.abort(file)
    prefix.forget()
    print(f"The staging to {prefix.weights} is given up; its parts are deleted.")


def _commit(repository: HubRepository, model: Model, manifest: Manifest | None) -> str:
    """The commit to stage; a resumed staging keeps its commit even if the branch has moved."""
    revision = model.revision or "main"
    commit = repository.commit(revision)
    if manifest is None or (manifest.model, manifest.commit) == (model.id, commit):
        return commit
    if (manifest.model, manifest.revision) != (model.id, revision) or _COMMIT.fullmatch(revision):
        raise StagingError(
            f"model.weights: {manifest.weights} is for {manifest.model} at {manifest.commit}, not for {model.id} at "
            f"{commit}; {_way_out(manifest)}."
        )
    print(
        f"{revision} of {model.id} has moved to {commit}, but this staging continues with {manifest.commit}. "
        f"For the newer commit, {_way_out(manifest)}."
    )
    return manifest.commit


def _way_out(manifest: Manifest) -> str:
    return "name another prefix" + (", or give this one up with --abandon" if manifest.state == "uploading" else "")


def _files(files: Sequence[HubFile], deployment: Deployment) -> list[HubFile]:
    chosen = select(files, deployment.model.files, deployment.serving.engine)
    if empty := [file.path for file in chosen if not file.size]:
        print(f"left out because they are empty: {', '.join(empty)}")
    return [file for file in chosen if file.size]


def _visible(prefix: WeightsPrefix, files: Sequence[HubFile], manifest: Manifest | None) -> set[str]:
    """The paths of the files that are visible already.

    Raises StagingError for any other object: every new instance of a running endpoint loads everything below the
    prefix, so a staging neither adds to it nor replaces an object.
    """
    wanted = {file.path: file.checksum for file in files}
    if manifest and {file.path: file.hub_checksum for file in manifest.files} != wanted:
        raise StagingError(
            f"model.files: the {len(files)} chosen files are not the {len(manifest.files)} with which the staging to "
            f"{prefix.weights} began; {_way_out(manifest)}."
        )
    may_be_there = set(wanted) if manifest and manifest.state != "uploading" else set()
    found = set(prefix.objects())
    if strange := sorted(found - may_be_there):
        raise StagingError(
            f"model.weights: {prefix.weights} holds {len(strange)} objects that were not staged there, such as "
            f"{strange[0] or 'one with the name of the prefix'}; SageMaker would load them, too: name another prefix, "
            "or remove them."
        )
    return found


def _begin(
    prefix: WeightsPrefix,
    manifest: Manifest | None,
    files: Sequence[HubFile],
    visible: set[str],
    model: Model,
    commit: str,
) -> tuple[Manifest, list[Task]]:
    """A manifest with an open upload for every file that is not visible, and the parts that each upload lacks."""
    begun = {file.path: file for file in manifest.files} if manifest else {}

    def task(file: HubFile) -> Task:
        staged = begun.get(file.path)
        if staged and file.path in visible:
            prefix.demand(staged)
            return Task(staged, ())
        held = prefix.parts(staged) if staged else None
        if staged is None or held is None:  # not begun, or aborted by a lifecycle rule
            staged, held = prefix.start(file.path, file.size, file.checksum), {}
        return Task(staged, tuple(number for number in range(1, staged.part_count + 1) if number not in held))

    with ThreadPoolExecutor(PARTS_AT_ONCE) as pool:
        tasks = list(pool.map(task, files))
    updated = Manifest(
        state="completing" if visible else "uploading",
        model=model.id,
        revision=manifest.revision if manifest else model.revision or "main",
        commit=commit,
        weights=prefix.weights,
        files=tuple(task.file for task in tasks),
    )
    # A kill before this line leaves uploads without parts, which cost nothing.
    prefix.write(updated, first=manifest is None)
    return updated, tasks


def _upload(
    repository: HubRepository,
    prefix: WeightsPrefix,
    manifest: Manifest,
    tasks: Sequence[Task],
    visible: set[str],
    downloads: Path,
) -> Manifest:
    """Upload every missing part. Returns the manifest with S3's checksums of the files."""
    lacking = [task for task in tasks if task.missing]
    total, to_send = sum(task.file.size for task in tasks), sum(task.size for task in lacking)
    if to_send < total:
        print(f"resumed: {size(total - to_send)} of {size(total)} are in S3 already", flush=True)
    if lacking:
        to_download = sum(task.file.size for task in lacking)
        with StagingProgress(to_download=to_download, to_send=to_send, total=total) as progress:
            Transfer(repository, manifest.commit, prefix, downloads, progress).run(lacking)

    def with_checksum(file: StagedFile) -> StagedFile:
        if file.path in visible:
            return file
        parts = prefix.parts(file) or {}
        if len(parts) < file.part_count:
            raise StagingError(f"S3 has lost parts of {file.path}, perhaps to a rule of the bucket: run this again.")
        return file.model_copy(update={"s3_checksum": checksum_of_parts([parts[each] for each in sorted(parts)])})

    with ThreadPoolExecutor(PARTS_AT_ONCE) as pool:
        files = tuple(pool.map(with_checksum, manifest.files))
    manifest = manifest.model_copy(update={"state": "completing", "files": files})
    prefix.write(manifest)
    return manifest


def _complete(prefix: WeightsPrefix, manifest: Manifest, visible: set[str]) -> None:
    """Make the files visible. The file that engines open first comes last."""
    last = _opened_first(manifest.files)

    def complete(file: StagedFile) -> None:
        if file.path not in visible:
            prefix.complete(file, prefix.parts(file) or {})

    with ThreadPoolExecutor(PARTS_AT_ONCE) as pool:
        list(pool.map(complete, [file for file in manifest.files if file != last]))
    complete(last)
    prefix.write(manifest.model_copy(update={"state": "complete"}))


def _opened_first(files: Sequence[StagedFile]) -> StagedFile:
    """Return the file that an engine needs before all others: the first GGUF file, else config.json."""
    return min(files, key=lambda file: (not file.path.endswith(".gguf"), file.path != "config.json", file.path))


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[Path]:
    """Lock the download folder for this run, remove partial downloads, and remove the folder after success."""
    folder.mkdir(parents=True, exist_ok=True)
    try:
        with FileLock(folder.with_suffix(".lock"), timeout=0):
            for path in folder.rglob("*.incomplete"):
                path.unlink()
            yield folder
            shutil.rmtree(folder)
    except Timeout:
        raise StagingError(f"Another run is staging this model through {folder}: wait for it, or stop it.") from None
