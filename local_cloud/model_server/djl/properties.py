"""The properties of a model: reads its serving.properties, in Java's format, and the equivalent variables."""

import re
from collections.abc import Mapping
from pathlib import Path

FILE_NAME = "serving.properties"
# Variables without a prefix -> the options that they set.
SHORT_NAMES = {
    "HF_MODEL_ID": "model_id",
    "HF_REVISION": "revision",
    "HF_MODEL_TRUST_REMOTE_CODE": "trust_remote_code",
    "TENSOR_PARALLEL_DEGREE": "tensor_parallel_degree",
}
_MIXED_CASE = {"entrypoint": "entryPoint"}  # the only option name that is not lower case
_ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}


def read_properties(folder: Path) -> dict[str, str]:
    """Read name -> value from the file (`engine`, `option.model_id`); empty without a file."""
    file = folder / FILE_NAME
    return (
        parse_properties(file.read_text(encoding="latin-1")) if file.is_file() else {}
    )  # the encoding of Java's properties files


def parse_properties(text: str) -> dict[str, str]:
    """Parse like java.util.Properties: `name=value`, `name: value` or `name value`; # and ! start a comment."""
    properties = {}
    for line in _logical_lines(text):
        # The name ends at the first separator without a backslash before it.
        name, value = _split(line)
        properties[_unescaped(name)] = _unescaped(value)
    return properties


def variables_of(properties: Mapping[str, str]) -> dict[str, str]:
    """The equivalent container variables: `option.model_id` -> OPTION_MODEL_ID, `engine` -> SERVING_ENGINE."""
    return {_variable(name): value for name, value in properties.items()}


def handler_properties(folder: Path, environment: Mapping[str, str]) -> dict[str, str]:
    """The properties that a handler gets, without `option.`; the file overrides the environment.

    Source: ModelInfo, PyModel, LmiUtils and PyEnv of djl-serving.
    """
    given = {SHORT_NAMES[name]: value for name, value in environment.items() if name in SHORT_NAMES}
    for prefix in ("SERVING_", "OPTION_"):
        for name, value in environment.items():
            if name.startswith(prefix):
                option = name.removeprefix(prefix).lower()
                given[_MIXED_CASE.get(option, option)] = value
    return given | {name.removeprefix("option."): value for name, value in read_properties(folder).items()}


def _variable(name: str) -> str:
    option = name.removeprefix("option.")
    return f"{'SERVING' if option == name else 'OPTION'}_{option}".upper()


def _logical_lines(text: str) -> list[str]:
    """The lines without comments and blank ones; an odd number of backslashes at the end continues a line."""
    lines: list[str] = []
    pending = ""
    for raw in text.splitlines():
        line = raw.lstrip(" \t\f")
        if not pending and (not line or line[0] in "#!"):
            continue
        trailing = len(line) - len(line.rstrip("\\"))
        if trailing % 2:
            pending += line[:-1]
        else:
            lines.append(pending + line)
            pending = ""
    return [*lines, pending] if pending else lines


def _split(line: str) -> tuple[str, str]:
    match = re.match(r"((?:\\.|[^\\=: \t\f])*)[ \t\f]*[=:]?[ \t\f]*(.*)", line, re.DOTALL)
    assert match is not None
    return match[1], match[2]


def _unescaped(text: str) -> str:
    def plain(match: re.Match[str]) -> str:
        if match[1]:
            return chr(int(match[1], 16))
        return _ESCAPES.get(match[2], match[2])

    read = re.sub(r"\\(?:u([0-9a-fA-F]{4})|(.))", plain, text)
    # A character above U+FFFF is written as two escapes.
    return read.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
