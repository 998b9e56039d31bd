"""Finds the subject of a check: a deployment file, or a model without a file. Reads the model's files on request."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from llm_hosting.catalog.models import model_shape
from llm_hosting.deployment.file import parse
from llm_hosting.deployment.lock import ModelLock, lock_of
from llm_hosting.deployment.lock_file import locked
from llm_hosting.deployment.model import Deployment
from llm_hosting.deployment.paths import UnknownDeploymentError, find
from llm_hosting.deployment.settings.shared_endpoint import FOLDER
from llm_hosting.resolution import resolve
from slipway.checking.unwritten_file import is_model_id, of_model, on_types


class UnaskedError(Exception):
    """The model can't be read; the message is one sentence."""


@dataclass(frozen=True)
class Subject:
    """A file to check.

    lock: used instead of the file's own lock; None = the file's lock, or the catalog. note: appended to the report,
    about the source of the facts. is_written: whether the user wrote the file. A generated file stands for a model
    alone.
    """

    path: Path
    lock: ModelLock | None = None
    note: str = ""
    is_written: bool = True


def subject(
    name: str,
    root: Path,
    folder: Path,
    *,
    types: Sequence[str] = (),
    otherwise: str = "",
    engine: str | None = None,
    hub: bool = False,
) -> Subject:
    """Find the deployment with this name or path, else the model with this id, which needs instance types.

    folder: for generated files. types, engine: used instead of the file's. otherwise: the type for a model without a
    file if `types` is empty. hub: read the model's own files. That happens anyway for a model without a file; if it
    fails, the catalog is used.

    Raises UnknownDeploymentError, DeploymentError, UnaskedError.
    """
    try:
        path = find(name, root / "deployments")
    except UnknownDeploymentError as error:
        if not is_model_id(name, root / "deployments"):
            raise
        if name.startswith(f"{FOLDER}/"):
            known = sorted(f"{FOLDER}/{each.stem}" for each in (root / FOLDER).glob("*.yaml"))
            raise UnknownDeploymentError(f"{error} Endpoints: {', '.join(known) or 'none'}.") from None
        if not (types or otherwise):
            hint = "A model needs no file if you name a type, --on ml.g6.xlarge, or ask for one, --recommend."
            raise UnknownDeploymentError(f"{error} {hint}") from None
        return _of_model(of_model(name, types or [otherwise], engine, folder), hub=hub)
    judged, lock = on_types(path, types, engine, folder) if types or engine else (path, None)
    return _of_file(judged, path) if hub else Subject(judged, lock)


def _of_model(path: Path, *, hub: bool) -> Subject:
    """The subject for a model without a file. hub: do not fall back to the catalog. Raises UnaskedError."""
    deployment, problems, _ = parse(path)
    if deployment is None or problems:
        return Subject(path)
    try:
        return Subject(path, _asked(deployment), is_written=False)
    except UnaskedError as error:
        if model_shape(deployment.model.id) is None:
            raise UnaskedError(f"The catalog has no row of {deployment.model.id}, and {error}") from None
        if hub:
            raise
        return Subject(path, note=f"; {error}", is_written=False)


def _of_file(judged: Path, written: Path) -> Subject:
    """The subject for a deployment file. judged: the file, or a copy for other types. Raises UnaskedError."""
    deployment, problems, _ = parse(judged)
    if deployment is None or problems:  # the report says what is wrong
        return Subject(judged)
    now = _asked(deployment)
    container = resolve(deployment.with_lock(now)).container
    if container.lock is None:
        return Subject(judged, now, f"; {container.model_id} of serving.environment is another model, or revision")
    before, problems = locked(deployment, written)
    if problems:
        return Subject(judged, now, f"; {problems[0].place} {problems[0].problem}")
    return Subject(judged, now, f"; {_news(before.lock, now)}" if before.lock else "")


def _asked(deployment: Deployment) -> ModelLock:
    """Read the model's own files. Raises UnaskedError."""
    # Importing boto3 and huggingface_hub is slow.
    from slipway.locking.lock_content import lock_content, source_of
    from slipway.locking.model_files import UnreadableModelError

    try:
        content = lock_content(deployment)
    except UnreadableModelError as error:
        raise UnaskedError(str(error)) from None
    return lock_of(content, source_of(content))


def _news(before: ModelLock, now: ModelLock) -> str:
    """Tell which facts of the model's files differ from the lock file."""
    changed = ", ".join(_changes(before, now))
    return f"the lock says otherwise: {changed}" if changed else "the lock says the same"


def _changes(before: ModelLock, now: ModelLock) -> Iterator[str]:
    if before.commit != now.commit:
        yield f"commit {(before.commit or 'none')[:7]} -> {(now.commit or 'none')[:7]}"
    yield from (
        f"{fact} {getattr(before.shape, fact)} -> {value}"
        for fact, value in vars(now.shape).items()
        if fact != "source" and value != getattr(before.shape, fact)
    )
    if before.packing != now.packing:
        yield f"packing {before.packing} -> {now.packing}"
    if other := {name for name, _ in before.files.items() ^ now.files.items()}:
        yield f"files, such as {min(other)}"
