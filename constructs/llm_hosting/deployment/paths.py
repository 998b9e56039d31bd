"""Finds a deployment file by its name below `deployments/`, or by its path; says which stack it describes."""

import contextlib
import difflib
import os
import shlex
from pathlib import Path

from ..project import project_folder


class UnknownDeploymentError(Exception):
    """There is no such file; the message is one sentence."""


def find(name: str, folder: Path) -> Path:
    """Return the file `<folder>/<name>.yaml`, or the file with the path `name`. Raises UnknownDeploymentError.

    name: `<base>/<overlay>` for an overlay.
    """
    for path in (folder / f"{name}.yaml", Path(name)):
        with contextlib.suppress(OSError, ValueError):  # a name too long for a file, or with a null in it
            if name and path.is_file():
                return path
            if name and path.is_dir():
                raise UnknownDeploymentError(f"{name!r} is a folder; name a file in it.")
    known = names(folder)
    meant = (Path(name).with_suffix("").as_posix() if name else "", Path(name).stem)
    near = next((found for each in meant for found in difflib.get_close_matches(each, known, n=1)), None)
    advice = f" Did you mean {near}?" if near else ""
    if "/" in name or name.endswith((".yaml", ".yml")):
        where = "" if os.path.isabs(name) else f" in {Path.cwd()}"
        raise UnknownDeploymentError(f"There is no file {name!r}{where}.{advice}")
    problem = f"There is no deployment {name!r}.{advice}" if name else "No deployment is named."
    if not known:
        place = "run this in a folder that `slipway init` has made"
        raise UnknownDeploymentError(f"{problem} {folder} has none: {place}, or use the path of a YAML file.")
    raise UnknownDeploymentError(f"{problem} Use {', '.join(known)} or the path of a YAML file.")


def names(folder: Path) -> list[str]:
    """Return the names of all deployments as the command line takes them: `<base>/<overlay>` for an overlay."""
    return sorted(path.relative_to(folder).with_suffix("").as_posix() for path in _files(folder))


def base_of(path: Path) -> Path | None:
    """Return `<folder>/<base>.yaml` for an overlay `<folder>/<base>/<overlay>.yaml`; None = it is no overlay."""
    folder = Path(os.path.abspath(path)).parent
    base = folder.parent / f"{folder.name}.yaml"
    return base if base.is_file() else None


def stack_name(path: Path) -> str:
    """Return the name of the stack that the file describes: `<base>-<overlay>` for an overlay."""
    base = base_of(path)
    return f"{base.stem}-{path.stem}" if base else path.stem


def spoken_name(path: Path) -> str:
    """Return the name that the command line takes: `<base>/<overlay>` for an overlay, the path of a file elsewhere."""
    own, folder = Path(os.path.abspath(path)), project_folder() / "deployments"
    return own.relative_to(folder).with_suffix("").as_posix() if own.is_relative_to(folder) else shlex.quote(str(path))


def same_stack(path: Path, folder: Path) -> Path | None:
    """Return another file of the folder `deployments/` that describes the stack of the same name."""
    own, name = Path(os.path.abspath(path)), stack_name(path)
    return next((each for each in _files(folder) if each != own and stack_name(each) == name), None)


def _files(folder: Path) -> list[Path]:
    return sorted([*folder.glob("*.yaml"), *(each for each in folder.glob("*/*.yaml") if base_of(each))])
