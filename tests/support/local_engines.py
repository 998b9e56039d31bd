"""The file with the catalog's engines that the local cloud's model servers read."""

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from local_cloud.engines_file import write_engines


@cache
def local_engines() -> Path:
    """Return the file; it goes with this process."""
    return write_engines(Path(_folder().name))


@cache
def _folder() -> "TemporaryDirectory[str]":
    return TemporaryDirectory()
