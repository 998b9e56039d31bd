"""A module of a folder -> the files that it needs."""

import ast
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.util import resolve_name

Files = Mapping[str, bytes]  # by path


def import_closure(module: str, files: Files) -> frozenset[str]:
    """Paths of the modules that it imports at any time, and of all files that are no modules.

    An import counts wherever it stands. A string that is a module's whole name counts as one: for import_module.
    """
    found = {path for path in files if not path.endswith(".py")}
    todo = [module]
    while todo:
        name = todo.pop()
        for path in (f"{name.replace('.', '/')}/__init__.py", f"{name.replace('.', '/')}.py"):
            if path in files and path not in found:
                found.add(path)
                todo += [name.rpartition(".")[0], *_named_modules(files[path], path)]
    return frozenset(found)


@cache  # the functions of a template share most of their modules
def _named_modules(source: bytes, path: str) -> frozenset[str]:
    return frozenset(_named(source, path))


def _named(source: bytes, path: str) -> Iterator[str]:
    package = path.rpartition("/")[0].replace("/", ".")
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names)
        elif isinstance(node, ast.ImportFrom):
            origin = resolve_name("." * node.level + (node.module or ""), package)
            yield from (origin, *(f"{origin}.{each.name}" for each in node.names))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value
