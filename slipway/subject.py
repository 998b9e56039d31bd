"""What a check is about: a deployment's file, or a model without one, and what the model says of itself now."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from llm_hosting.catalog.models import model_shape
from llm_hosting.deployment_file import parse
from llm_hosting.deployment_paths import UnknownDeploymentError, find
from llm_hosting.locked_deployment import locked
from llm_hosting.model_lock import ModelLock, lock_of
from slipway.unwritten_file import is_model_id, of_model, on_types


class UnaskedError(Exception):
    """The model can't be read; the message is one sentence."""


@dataclass(frozen=True)
class Subject:
    """lock: taken for the file's; None = the file's, or the catalog. note: on where the facts come from."""

    path: Path
    lock: ModelLock | None = None
    note: str = ""


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
    """The deployment of this name or path, else the model of this id, which needs instance types.

    folder: for files that nobody wrote. types, engine: in place of the file's. otherwise: the type of a model without a
    file, where none is given. hub: ask the model itself; without a
    file that is done anyway, and the catalog is taken where it can't be.

    Raises UnknownDeploymentError, DeploymentError, UnaskedError.
    """
    try:
        path = find(name, root / "deployments")
    except UnknownDeploymentError as error:
        if not is_model_id(name):
            raise
        if not (types or otherwise):
            hint = "A model needs no file if you name a type, --on ml.g6.xlarge, or ask for one, --recommend."
            raise UnknownDeploymentError(f"{error} {hint}") from None
        return _asked(of_model(name, types or [otherwise], engine, folder), may_use_catalog=True)
    if types or engine:
        path = on_types(path, types, engine, folder)
    return _asked(path) if hub else Subject(path)


def _asked(path: Path, *, may_use_catalog: bool = False) -> Subject:
    """Raises UnaskedError where the model can't be read."""
    from slipway.locking.lock_content import lock_content  # boto3 and huggingface_hub take their time to import
    from slipway.locking.model_files import UnreadableModelError

    deployment, _ = parse(path)
    if deployment is None:
        return Subject(path)
    try:
        content = lock_content(deployment)
    except UnreadableModelError as error:
        if not (may_use_catalog and model_shape(deployment.model.id)):
            raise UnaskedError(str(error)) from None
        return Subject(path, note=f"; {error}")
    lock, written = lock_of(content, content["source"]), locked(deployment, path)[0].lock
    return Subject(path, lock, f"; {_news(written, lock)}" if written else "")


def _news(written: ModelLock, lock: ModelLock) -> str:
    """What the model says now and the lock file does not."""
    before, now = ({"commit": each.commit, **vars(each.shape), "source": ""} for each in (written, lock))
    changed = [f"{name} {before[name]} -> {now[name]}" for name in now if now[name] != before[name]]
    return f"the lock says otherwise: {', '.join(changed)}" if changed else "the lock says the same"
