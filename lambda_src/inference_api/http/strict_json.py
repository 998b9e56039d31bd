"""JSON that every parser reads in the same way: no duplicate keys, no NaN, whole characters, bounded depth."""

import json
from codecs import BOM_UTF8
from typing import Any, NoReturn

from inference_api.shared.errors import ApiError

# JSON schemas have many levels. TGI's reader, serde_json, takes at most 128.
MAX_DEPTH = 100


def read_strict_json(raw: bytes, max_depth: int = MAX_DEPTH) -> Any:
    """Parse JSON. Raises ApiError 400 `invalid_json`, which says what to change."""
    if raw.startswith(BOM_UTF8):
        _refuse("it starts with a byte order mark; send UTF-8 without one")
    try:
        document = _DECODER.decode(raw.decode())
    except UnicodeDecodeError:
        _refuse("it is not UTF-8; send it in UTF-8")
    except json.JSONDecodeError as error:
        _refuse(f"{error.msg} at line {error.lineno}, column {error.colno}")
    except RecursionError:
        _refuse_depth(max_depth)
    except ValueError:
        # The one other ValueError of the decoder: Python refuses to convert integers past 4,300 digits.
        _refuse("a number has too many digits")
    _check_values(document, max_depth)
    return document


def _check_values(document: Any, most: int) -> None:
    values, depth = [document], 0
    while values:
        depth += 1
        inner: list[Any] = []
        for value in values:
            if isinstance(value, str):
                _check_text(value)
            elif isinstance(value, float) and value in (float("inf"), float("-inf")):
                _refuse("a number is too large")
            elif isinstance(value, dict):
                inner += [*value, *value.values()]
            elif isinstance(value, list):
                inner += value
        if depth > most and any(isinstance(value, dict | list) for value in values):
            _refuse_depth(most)
        values = inner


def _check_text(text: str) -> None:
    try:
        text.isascii() or text.encode()
    except UnicodeEncodeError:
        _refuse("a string holds half of a surrogate pair (\\ud800 to \\udfff); send the whole character")


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    document = {}
    for name, value in pairs:
        if name in document:
            _refuse(f"the key {json.dumps(name[:40])} appears more than once in an object; keep one")
        document[name] = value
    return document


def _refuse_constant(name: str) -> NoReturn:
    _refuse(f"{name} is not a JSON number; send a finite number or null")


def _refuse_depth(most: int) -> NoReturn:
    message = f"The body is nested more than {most} levels deep; make it flatter."
    raise ApiError("invalid_json", message) from None


def _refuse(reason: str) -> NoReturn:
    raise ApiError("invalid_json", f"The body is not valid JSON: {reason}.") from None


_DECODER = json.JSONDecoder(object_pairs_hook=_unique_keys, parse_constant=_refuse_constant)
