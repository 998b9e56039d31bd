"""What a model says of itself now, beside what its lock file says."""

from collections.abc import Iterator
from pathlib import Path

from llm_hosting.deployment import Deployment
from llm_hosting.locked_deployment import locked
from llm_hosting.model_lock import ModelLock, lock_of
from slipway.locking.lock_content import lock_content


def lock_now(deployment: Deployment) -> ModelLock:
    """The lock that `slipway lock` would write. Raises UnreadableModelError."""
    content = lock_content(deployment)
    return lock_of(content, content["source"])


def news(deployment: Deployment, path: Path, now: ModelLock) -> str:
    """What the lock file of the deployment at this path says otherwise, as the end of a line; empty = there is none."""
    written, problems = locked(deployment, path)
    if problems:
        return f"; {problems[0].place} {problems[0].problem}"
    if written.lock is None:
        return ""
    changed = ", ".join(_changes(written.lock, now))
    return f"; the lock says otherwise: {changed}" if changed else "; the lock says the same"


def _changes(written: ModelLock, now: ModelLock) -> Iterator[str]:
    if written.commit != now.commit:
        yield f"commit {_short(written.commit)} -> {_short(now.commit)}"
    for fact, value in vars(now.shape).items():
        if fact != "source" and value != (before := getattr(written.shape, fact)):
            yield f"{fact} {before} -> {value}"
    if written.packing != now.packing:
        yield f"packing {written.packing} -> {now.packing}"
    others = [name for name, _ in written.files.items() ^ now.files.items()]
    if others:
        yield f"files, such as {min(others)}"


def _short(commit: str | None) -> str:
    return commit[:7] if commit else "unknown"
