"""Runs a module of this package as a program: `python -P start.py local_cloud.emulator ...`.

Only this package becomes importable. The folder around it may hold all of a user's packages, which functions and
handlers must not see.
"""

import runpy
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

PACKAGE = Path(__file__).parents[1]


def command(module: str, *arguments: str, python: str = sys.executable) -> list[str]:
    """Return the command line that runs a module of this package in an interpreter."""
    return [python, "-P", __file__, module, *arguments]


def _make_importable() -> None:
    spec = spec_from_file_location(PACKAGE.name, PACKAGE / "__init__.py", submodule_search_locations=[str(PACKAGE)])
    assert spec
    assert spec.loader
    sys.modules[PACKAGE.name] = package = module_from_spec(spec)
    spec.loader.exec_module(package)


if __name__ == "__main__":
    del sys.argv[0]
    _make_importable()
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
