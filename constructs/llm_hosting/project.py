"""The user's project: the folder with `deployments/`, `fleets/`, `model_src/`, `app.py` and `cdk.json`."""

import os
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


def project_folder(*deployments: str) -> Path:
    """Return the project of these deployments, or the one around the current folder; the current folder if none is.

    deployments: names and paths. A file belongs to the project around it, a name and a file in no project to the one
    around the current folder. Raises ProjectError if they belong to several.
    """
    here = _around(Path.cwd()) or Path.cwd()
    found: dict[Path, str] = {}
    for each in deployments:
        if os.path.isfile(each):
            found.setdefault(_around(Path(os.path.abspath(each)).parent) or here, each)
        elif os.path.isfile(here / "deployments" / f"{each}.yaml"):
            found.setdefault(here, each)
    if len(found) > 1:
        (first, one), (second, two) = list(found.items())[:2]
        raise ProjectError(
            f"{one} belongs to {first}, and {two} to {second}; name deployments of one project at a time."
        )
    return next(iter(found), here)


def _around(folder: Path) -> Path | None:
    return next((each for each in (folder, *folder.parents) if is_project(each)), None)


def is_project(folder: Path) -> bool:
    """Return whether the folder holds what makes it a project: `cdk.json` and `deployments/`."""
    return (folder / "cdk.json").is_file() and (folder / "deployments").is_dir()


def use_project(project: Path | None) -> None:
    """Take the project's own facts and rules into account from here on; None, or a folder that is no project: none.

    It is called before a deployment is read. What was read for another project is forgotten.
    """
    global _in_use
    project = project.resolve() if project and is_project(project) else None
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
