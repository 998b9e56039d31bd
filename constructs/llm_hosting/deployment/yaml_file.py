"""Reads a YAML file that somebody wrote; its problems become findings."""

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

import yaml

from ..file_errors import why
from .finding import Finding
from .look_alikes import look_alikes

_FIXES = {  # by a part of the parser's message
    "<block mapping start>": "indent the keys of a section alike",
    "mapping values are not allowed": "indent the keys of a section alike, and put a value with a colon in quotes",
    "expected ',' or": "close the bracket that line {begin} opens",
    "cannot start any token": "put the value in quotes",
    "<scalar>": "put the whole value in one pair of quotes",
    "could not find expected ':'": "write `key: value`",
}


def read(path: Path, free_texts: Collection[str] = ()) -> tuple[Any, list[Finding]]:
    """Return the content of a file; None = there are problems.

    free_texts: the keys below which any text is allowed. Elsewhere a character that only looks like ASCII is a problem.
    """
    text = ""
    try:
        text = path.read_text(encoding="utf-8")
        return _content(text, free_texts)
    except OSError as error:
        return None, [Finding("file", f"can't be read: {why(error)}")]
    except UnicodeDecodeError:
        return None, [Finding("file", "is not UTF-8 text", "save it as UTF-8")]
    except yaml.MarkedYAMLError as error:
        problem = Finding("file", f"is not valid YAML: {error.problem}{_place(error)}", _fix(error))
        return None, list(_causes(text, error)) or [problem]
    except (yaml.YAMLError, RecursionError, ValueError, LookupError, AttributeError) as error:
        return None, [Finding("file", f"is not valid YAML: {' '.join(str(error).split())}")]


def _content(text: str, free_texts: Collection[str]) -> tuple[Any, list[Finding]]:
    """Return the content, or the problems of its keys and characters."""
    loader = yaml.SafeLoader(text)
    node = loader.get_single_node()
    problems = [*_wrong_keys(node, set()), *_wrong_characters(node, free_texts, set())]
    return (None, problems) if problems or node is None else (loader.construct_document(node), [])


def _wrong_keys(node: yaml.Node | None, seen: set[int]) -> Iterator[Finding]:
    """Refuse a key that stands twice, because YAML keeps the last one, and a key that is not text, such as `on`.

    seen: ids of the nodes already visited, because an alias may lead back to its own place.
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
            problem = f"the key {key.value!r} in line {key.start_mark.line + 1} is not read as text by YAML"
            yield Finding("file", problem, "put it in quotes")
    for name, found in lines.items():
        if len(found) > 1:
            times = "twice" if len(found) == 2 else f"{len(found)} times"
            places = f"{', '.join(found[:-1])} and {found[-1]}"
            yield Finding("file", f"the key {name!r} stands {times}, in lines {places}", "keep one of them")


def _wrong_characters(node: yaml.Node | None, free_texts: Collection[str], seen: set[int]) -> Iterator[Finding]:
    """Refuse characters that only look like ASCII. seen: as in `_wrong_keys`."""
    if node is None or id(node) in seen:
        return
    seen.add(id(node))
    if isinstance(node, yaml.ScalarNode):
        yield from _look_alikes(node.value, node.start_mark.line + 1)
    elif isinstance(node, yaml.SequenceNode):
        for item in node.value:
            yield from _wrong_characters(item, free_texts, seen)
    elif isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            yield from _wrong_characters(key, free_texts, seen)
            if key.value not in free_texts:
                yield from _wrong_characters(value, free_texts, seen)


def _look_alikes(text: str, line: int) -> Iterator[Finding]:
    for character, fix in look_alikes(text):
        yield Finding("file", f"line {line} has the character {character} in {text.strip()!r:.60}", fix)


def _causes(text: str, error: yaml.MarkedYAMLError) -> Iterator[Finding]:
    """Yield causes that are hard to see in an editor: an open quote, tabs, and characters that look alike."""
    if error.context_mark and error.context == "while scanning a quoted scalar":
        yield Finding(
            "file", f"line {error.context_mark.line + 1} begins a quoted text that does not end", "close the quote"
        )
    lines = text.splitlines()
    marked = {mark.line for mark in (error.problem_mark, error.context_mark) if mark}
    for index in sorted((marked | {min(marked, default=0) - 1}) & set(range(len(lines)))):
        line = lines[index].partition(" #")[0]
        if "\t" in line:
            yield Finding("file", f"line {index + 1} has a tab, which YAML does not take there", "type spaces")
        yield from _look_alikes(line, index + 1)


def _fix(error: yaml.MarkedYAMLError) -> str:
    begin = error.context_mark.line + 1 if error.context_mark else ""
    return next((fix.format(begin=begin) for words, fix in _FIXES.items() if words in str(error.problem)), "")


def _place(error: yaml.MarkedYAMLError) -> str:
    mark = error.problem_mark or error.context_mark
    return f" (line {mark.line + 1}, column {mark.column + 1})" if mark else ""
