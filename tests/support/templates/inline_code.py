"""The inline code of functions, as a portable template holds it."""

from pathlib import Path
from typing import Any

from llm_hosting.portable.code.index_file import BEGINNING, files_below, package_line, text_of
from support.templates.template_parts import Template


def index_file(folder: Path, handlers: str) -> str:
    """Return an index.py that holds every file of a folder."""
    files = files_below(folder)
    return BEGINNING + package_line(handlers) + text_of(files, files)


def index_of(template: Template, function: dict[str, Any]) -> str:
    """Return a function's index.py, joined as CloudFormation joins it. `function`: the function's properties."""
    separator, parts = function["Code"]["ZipFile"]["Fn::Join"]
    return str(separator.join(part if isinstance(part, str) else _found(template, *_keys(part)) for part in parts))


def _keys(part: dict[str, list[str]]) -> list[str]:
    return part["Fn::FindInMap"]


def _found(template: Template, mapping: str, first: str, second: str) -> str:
    return str(template["Mappings"][mapping][first][second])
