"""Finds a deployment file by its name below `deployments/`, or by its path."""

import contextlib
import difflib
from pathlib import Path


class UnknownDeploymentError(Exception):
    """There is no such file; the message is one sentence."""


def find(name: str, folder: Path) -> Path:
    """The file `<folder>/<name>.yaml`, or else the file of that path. Raises UnknownDeploymentError."""
    for path in (folder / f"{name}.yaml", Path(name)):
        with contextlib.suppress(OSError, ValueError):  # a name too long for a file, or with a null in it
            if name and path.is_file():
                return path
    known = sorted(path.stem for path in folder.glob("*.yaml"))
    near = difflib.get_close_matches(Path(name).stem, known, n=1)
    meant = f" Did you mean {near[0]}?" if near else ""
    if "/" in name or name.endswith((".yaml", ".yml")):
        raise UnknownDeploymentError(f"There is no file {name!r}.{meant}")
    problem = f"There is no deployment {name!r}.{meant}" if name else "No deployment is named."
    raise UnknownDeploymentError(f"{problem} Use {', '.join(known)} or the path of a YAML file.")
