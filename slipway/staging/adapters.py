"""Stages LoRA adapters: copies one from the Hub to S3, verifies one in S3, and puts its archive beside it."""

import shutil
from pathlib import Path

from llm_hosting.deployment.model import Deployment
from llm_hosting.deployment.settings.model import archive_of_adapter
from slipway.shared.sizes import size
from slipway.staging.adapter_archive import store_archive
from slipway.staging.hub_repository import HubRepository
from slipway.staging.staging import AtCommit, StagingError, stage
from slipway.staging.weights_prefix import WeightsPrefix
from slipway.weights.adapter import FILES, read_adapter


def copy_adapter(deployment: Deployment, source: str, token: str | None, prefix: WeightsPrefix, folder: Path) -> None:
    """Copy an adapter's two files from the Hub below the prefix; resumes an earlier run.

    source: `org/name` or `org/name@revision`. Raises BrokenWeightsError for files that are no whole adapter, and the
    errors of `staging.stage`.
    """
    model_id, _, revision = source.partition("@")
    repository = HubRepository(model_id, token)
    manifest = prefix.manifest()
    is_same = manifest is not None and (manifest.model, revision) == (model_id, "")  # it goes on with its own commit
    commit = manifest.commit if manifest and is_same else repository.commit(revision or "main")
    repository.demand_access()
    read_adapter(AtCommit(repository, commit), {file.path: file.size for file in repository.files(commit)})
    adapter = {"id": model_id, "revision": commit, "weights": prefix.weights, "files": list(FILES)}
    model = deployment.model.model_copy(update=adapter)
    stage(deployment.model_copy(update={"model": model}), repository, prefix, folder)


def complete_adapter(name: str, prefix: WeightsPrefix, folder: Path) -> None:
    """Verify an adapter in S3, and put its archive beside it; prints what it found.

    Raises BrokenWeightsError, StagingError for an archive of other files, PrefixError or boto3's errors.
    """
    sizes = prefix.objects()
    adapter = read_adapter(prefix, sizes)
    way = folder / "adapters" / name
    shutil.rmtree(way, ignore_errors=True)
    way.mkdir(parents=True)
    try:
        for path in FILES:
            prefix.download(path, way / path)
            if (way / path).stat().st_size != sizes[path]:
                raise StagingError(f"{prefix.weights}{path} has changed while it was read: run this again.")
        is_new = store_archive(prefix, {path: way / path for path in FILES}, way)
    finally:
        shutil.rmtree(way)
    of = f"rank {adapter.rank}, {size(adapter.bytes)}, of {adapter.base or 'a base that it does not name'}"
    state = "put beside it" if is_new else "there, and holds the same files"
    print(f"{name}: {prefix.weights} holds a whole adapter ({of}); {archive_of_adapter(prefix.weights)} is {state}.")
