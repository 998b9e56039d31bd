"""Reads a YAML file: the only reader of YAML. What is wrong with the file becomes findings."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from .finding import Finding


def read(path: Path) -> tuple[Any, list[Finding]]:
    """The content, None where there are problems."""
    try:
        return _content(path.read_text(encoding="utf-8"))
    except OSError as error:
        return None, [Finding("file", f"can't be read: {error.strerror}")]
    except UnicodeDecodeError:
        return None, [Finding("file", "is not UTF-8 text", "save it as UTF-8")]
    except yaml.MarkedYAMLError as error:
        return None, [Finding("file", f"is not valid YAML: {error.problem}{_place(error)}")]
    except (yaml.YAMLError, RecursionError, ValueError, LookupError, AttributeError) as error:
        return None, [Finding("file", f"is not valid YAML: {' '.join(str(error).split())}")]


def _content(text: str) -> tuple[Any, list[Finding]]:
    """The content, or the problems of its keys."""
    loader = yaml.SafeLoader(text)
    node = loader.get_single_node()
    problems = list(_wrong_keys(node, set()))
    return (None, problems) if problems or node is None else (loader.construct_document(node), [])


def _wrong_keys(node: yaml.Node | None, seen: set[int]) -> Iterator[Finding]:
    """YAML takes a key twice, keeps the last, and reads `on` as true; here both are problems.

    seen: ids of nodes that were looked at, since an alias may lead back to where it stands.
    """
    if not isinstance(node, yaml.CollectionNode) or id(node) in seen:
        return
    seen.add(id(node))
    if not isinstance(node, yaml.MappingNode):
        for item in node.value:
            yield from _wrong_keys(item, seen)
        return
    lines: dict[str, list[str]] = {}
    for key, value in node.value:
        yield from _wrong_keys(value, seen)
        if not isinstance(key, yaml.ScalarNode) or key.tag.endswith(":merge"):
            continue
        lines.setdefault(key.value, []).append(str(key.start_mark.line + 1))
        if not key.tag.endswith(":str"):
            problem = f"the key {key.value!r} in line {key.start_mark.line + 1} is not text for YAML"
            yield Finding("file", problem, "put it in quotes")
    for name, found in lines.items():
        if len(found) > 1:
            times = "twice" if len(found) == 2 else f"{len(found)} times"
            places = f"{', '.join(found[:-1])} and {found[-1]}"
            yield Finding("file", f"the key {name!r} stands {times}, in lines {places}", "keep one of them")


def _place(error: yaml.MarkedYAMLError) -> str:
    mark = error.problem_mark or error.context_mark
    return f" (line {mark.line + 1}, column {mark.column + 1})" if mark else ""
