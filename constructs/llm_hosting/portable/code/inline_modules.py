"""This file holds the modules of a function as readable text below, and imports them from there.

Modules and packages keep their names and paths: import, tracebacks, inspect.getsource and pkgutil.get_data work as in a
folder. The files are not on disk, so that open and pkgutil.iter_modules do not find them. `index.<name>` stands for
`<HANDLERS><name>.handler`, because Lambda's runtime looks a handler up with getattr.
"""

import sys
from importlib import import_module
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import spec_from_file_location
from os.path import dirname
from typing import Any

HANDLERS = ""  # the package of the handlers, with a dot after it
FILES: dict[str, str] = {}  # each file's text, after a line break

_ROOT = f"{dirname(__file__)}/"


class _Loader(SourceFileLoader):
    def get_data(self, path: str) -> bytes:
        name = path.removeprefix(_ROOT)
        if name not in FILES:
            raise FileNotFoundError(path)
        return FILES[name][1:].encode()

    def path_stats(self, path: str) -> Any:
        """Return no time, so that Python neither looks for bytecode nor writes it."""
        raise OSError


class _Finder:
    @staticmethod
    def find_spec(name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        stem = name.replace(".", "/")
        for file in (f"{stem}/__init__.py", f"{stem}.py"):
            if file in FILES:
                location = f"{_ROOT}{file}"
                return spec_from_file_location(name, location, loader=_Loader(name, location))
        return None


def __getattr__(name: str) -> Any:
    module = f"{HANDLERS}{name}"
    if f"{module.replace('.', '/')}.py" not in FILES:
        raise AttributeError(f"module {__name__} has no attribute {name}")
    return import_module(module).handler


# A reload replaces the earlier finder.
sys.meta_path[:] = [_Finder, *(each for each in sys.meta_path if getattr(each, "__module__", None) != __name__)]
