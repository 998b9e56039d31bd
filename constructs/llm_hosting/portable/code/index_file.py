"""Writes the files of a folder into one index.py, each as readable text."""

import ast
import json
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path

BEGINNING = Path(__file__).with_name("inline_modules.py").read_text()


class InlineCodeError(ValueError):
    """A file can't stand in a template as it is. The message names the file, the place and the fix."""


def files_below(folder: Path) -> dict[str, bytes]:
    """Return the files by path. Raises InlineCodeError for a module in a folder without `__init__.py`."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    files = {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}
    for name in files:
        _check_packages(name, files)
    return files


def package_line(handlers: str) -> str:
    """Return the line after BEGINNING. handlers: the package of the handlers with a dot after it, or ""."""
    return f"\nHANDLERS = {json.dumps(handlers)}\n"


def text_of(files: Mapping[str, bytes], names: Iterable[str]) -> str:
    """Return the lines that hold these files. They follow BEGINNING in any order. Raises InlineCodeError."""
    return "\n".join(f"FILES[{json.dumps(name)}] = {_literal(name, files[name])}\n" for name in names)


def _literal(name: str, content: bytes) -> str:
    """Return a raw Python string whose value, after its first line break, is the file byte for byte."""
    text = content.decode("latin-1")  # reads any byte; bytes beyond ASCII are refused below
    for number, line in enumerate(text.split("\n"), 1):
        _check(line, f"{name}, line {number}")
    literal = f"r'''\n{text}'''"
    try:
        holds = ast.literal_eval(literal)[1:].encode() == content
    except (SyntaxError, ValueError):
        holds = False
    if not holds:
        raise InlineCodeError(f"{name}: ''' and a last character ' or \\ end a string early; write them otherwise.")
    return literal


def _check_packages(name: str, files: Collection[str]) -> None:
    folder = Path(name).parent
    while name.endswith(".py") and folder != Path():
        if (missing := f"{folder.as_posix()}/__init__.py") not in files:
            raise InlineCodeError(f"{name}: lies in a folder that is no package; add {missing}.")
        folder = folder.parent


def _check(line: str, place: str) -> None:
    """Refuse characters that a literal block of YAML can't hold or that GetTemplate does not give back.

    GetTemplate answers ? for characters beyond ASCII (aws-cloudformation/cloudformation-coverage-roadmap#814).
    """
    if not (line.isascii() and line.isprintable()):
        raise InlineCodeError(f"{place}: holds more than printable ASCII; write an escape for it, or spaces for a tab.")
    if line != line.rstrip():
        raise InlineCodeError(f"{place}: ends in a blank; remove it.")
