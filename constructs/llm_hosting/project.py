"""The user's project: the folder with `deployments/`, `fleets/`, `model_src/`, `app.py` and `cdk.json`."""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import ParamSpec, TypeVar, cast

_P = ParamSpec("_P")
_R = TypeVar("_R")
_in_use: Path | None = None
_forget: list[Callable[[], None]] = []


class ProjectError(Exception):
    """A file of the project can't be used; the message is one sentence that names it."""


def project_folder() -> Path:
    """Return the nearest folder, from the current one upwards, that is a project; the current one if none is."""
    here = Path.cwd()
    return next((each for each in (here, *here.parents) if is_project(each)), here)


def is_project(folder: Path) -> bool:
    """Return whether the folder holds what makes it a project: `cdk.json` and `deployments/`."""
    return (folder / "cdk.json").is_file() and (folder / "deployments").is_dir()


def use_project(project: Path | None) -> None:
    """Take the project's own facts and rules into account from here on; None = those of no project.

    An app and a command call it once, before they read a deployment. What was read for another project is forgotten.
    """
    global _in_use
    project = project and project.resolve()
    if project != _in_use:
        _in_use = project
        for forget in _forget:
            forget()


def project_in_use() -> Path | None:
    """Return the project of the last `use_project`."""
    return _in_use


def kept_for_project(read: Callable[_P, _R]) -> Callable[_P, _R]:
    """Keep the answers of a function, like `functools.cache`, until another project is used."""
    kept = cache(read)
    _forget.append(kept.cache_clear)
    return cast(Callable[_P, _R], kept)  # which says nothing of its parameters
