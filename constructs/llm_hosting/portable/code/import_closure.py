"""Finds the files that a module of a folder needs."""

import ast
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.util import resolve_name

Files = Mapping[str, bytes]  # files by path


def import_closure(module: str, files: Files) -> frozenset[str]:
    """Return the paths of all modules that it may import, and of all files that are not modules.

    Every import counts, also one inside a function. A string that is the full name of a module counts as well, because
    import_module takes such strings.
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


@cache  # parsed once: the functions of a template share most of their modules
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
