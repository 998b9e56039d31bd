"""Lets a shell find the local cloud that runs in this checkout: a file with its variables, locked while it runs."""

import fcntl
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

DEFAULT_PORT = 4566
_FOLDER = Path("cdk.out/local-cloud")


class NotRunningError(Exception):
    """No such local cloud runs; the message is one sentence."""


@contextmanager
def announced(root: Path, port: int, variables: Mapping[str, str]) -> Iterator[None]:
    """Publish the variables while the context is open, so that `variables_of` finds them. root: the checkout."""
    path = root / _FOLDER / f"{port}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_suffix(".new")
    new.unlink(missing_ok=True)
    # The file holds a key, so only this user may read it.
    with open(os.open(new, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)  # freed with the process, also after kill -9
        json.dump(dict(variables), file)
        file.flush()
        new.replace(path)
        try:
            yield
        finally:
            path.unlink(missing_ok=True)


def variables_of(root: Path, port: int | None) -> dict[str, str]:
    """The variables of the local cloud on this port.

    port: None = the default port, or the only other one that runs. Raises NotRunningError.
    """
    running = {int(path.stem): path for path in (root / _FOLDER).glob("*.json") if _is_locked(path)}
    wanted = port or (DEFAULT_PORT if DEFAULT_PORT in running or len(running) != 1 else min(running))
    if wanted in running:
        variables: dict[str, str] = json.loads(running[wanted].read_text(encoding="utf-8"))
        return variables
    if running:
        others = " or ".join(f"--port {each}" for each in sorted(running))
        raise NotRunningError(f"No local cloud of this folder runs on port {wanted}; use {others}.")
    raise NotRunningError(
        "No local cloud runs in this folder: start one with `slipway local NAME` in another terminal, "
        "and wait for its answer."
    )


def _is_locked(path: Path) -> bool:
    try:
        with path.open() as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except FileNotFoundError:  # it ended just now
        pass
    return False
