"""Adds the facts of a lock file to the deployment beside it."""

from collections.abc import Iterator
from pathlib import Path

from ..file_errors import why
from .finding import Finding
from .lock import LockError, ModelLock, read_lock
from .model import Deployment
from .paths import base_of, spoken_name
from .settings.model import Model


def lock_path(deployment: Path) -> Path:
    """`<name>.lock.json` beside `<name>.yaml`."""
    return deployment.with_suffix(".lock.json")


def locked(deployment: Deployment, path: Path) -> tuple[Deployment, list[Finding]]:
    """Return the deployment with its lock, and the problems of the lock.

    An overlay takes the lock of its base, unless it has a lock of its own, or names another model or revision.
    """
    base, own = base_of(path), lock_path(path)
    file = next((each for each in (own, lock_path(base) if base else own) if each.is_file()), None)
    if file is None:
        return deployment, []
    model, again = deployment.model, f"run `slipway lock {spoken_name(path)}`, or remove {file.name}"
    try:
        lock = read_lock(file.read_text(errors="replace"), file.name)
    except OSError as error:
        return deployment, [Finding("model", f"has no facts: {file.name} can't be read: {why(error)}", again)]
    except LockError as error:
        return deployment, [Finding("model", f"has no facts: {file.name} {error}", again)]
    is_elsewhere = lock.source.startswith("s3://") and lock.source != model.weights
    if (lock.model_id, lock.revision) == (model.id, model.revision) and not is_elsewhere:
        return deployment.with_lock(lock), list(_other_adapters(lock, model, file.name, again))
    if file != own:
        return deployment, []
    if lock.model_id != model.id:
        return deployment, [Finding("model.id", f"is {model.id}, but {file.name} is of {lock.model_id}", again)]
    if is_elsewhere:
        weights = model.weights or "not set"
        return deployment, [Finding("model.weights", f"is {weights}, but {file.name} is of {lock.source}", again)]
    problem = f"is {model.revision or 'not set'}, but {file.name} was made for {lock.revision or 'the newest'}"
    return deployment, [Finding("model.revision", problem, again)]


def _other_adapters(lock: ModelLock, model: Model, file: str, again: str) -> Iterator[Finding]:
    """Yield the adapters that the deployment takes from another place than the lock read them from."""
    for name, source in model.adapters.items():
        if name in lock.adapters and lock.adapters[name].source != source:
            problem = f"is {source}, but {file} is of {lock.adapters[name].source}"
            yield Finding(f"model.adapters.{name}", problem, again)
