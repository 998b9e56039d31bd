"""A container's stream, cut anywhere -> its JSON values: server-sent events and JSON lines alike."""

import json
from collections.abc import Iterable, Iterator
from typing import Any

from inference_api.http.answer import MAX_RESPONSE_BYTES
from inference_api.shared import errors

_DONE = b"[DONE]"
_NOT_DATA = (b":", b"event:", b"id:", b"retry:")
_WITH_DATA = (b"data:", b"error:")  # llama.cpp's word for an error is a field of its own
_MOST_LINES = 1000  # in one event
_ANSWERS = ("choices", "token", "generated_text")


def objects(parts: Iterable[bytes]) -> Iterator[Any]:
    """Yield the stream's JSON values, without `[DONE]`, comments and blank lines.

    Raises InvocationError for an error that the engine writes into the stream, and for a stream that ends before its
    answer does: an engine that dies may just hang up.
    """
    begun, ended = set[int](), set[int]()
    for document in _documents(parts):
        value = read_value(document)
        for choice, is_over in _choices(value):
            begun.add(choice)
            if is_over:
                ended.add(choice)
        yield value
    if not begun or begun - ended:
        raise errors.stream_broken()


def read_value(raw: bytes) -> Any:
    """Parse a JSON value. Raises InvocationError if it is not JSON, or if it is an engine's error in a 200."""
    try:
        text = raw.decode()
        value = json.loads(text)
    except (ValueError, RecursionError):
        raise errors.stream_broken() from None
    if isinstance(value, dict) and _is_error(value):
        raise errors.container_error(None, text)
    return value


def _documents(parts: Iterable[bytes]) -> Iterator[bytes]:
    """Yield each JSON text. An event may spread it over several lines of data, up to a blank line."""
    held: list[bytes] = []
    for line in _lines(parts):
        if data := _data(line):
            held.append(data)
            text = b"\n".join(held)
            is_too_long = len(held) == _MOST_LINES or len(text) > MAX_RESPONSE_BYTES
            is_over = not line.lstrip().startswith(b"data:") or is_too_long or _is_json(text)
        else:
            is_over = not line.strip()  # and not a comment
        if held and is_over:
            yield b"\n".join(held)
            held = []
    if held:
        yield b"\n".join(held)


def _is_json(text: bytes) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _lines(parts: Iterable[bytes]) -> Iterator[bytes]:
    """Yield whole lines, not decoded: a part may end in the middle of a line and of a character."""
    begun, size = [], 0
    for part in parts:
        first, *others = part.split(b"\n")
        begun.append(first)
        size += len(first)
        if size > MAX_RESPONSE_BYTES:
            raise errors.answer_too_large()
        if others:
            yield b"".join(begun)
            yield from others[:-1]
            begun, size = [others[-1]], len(others[-1])
    yield b"".join(begun)


def _data(line: bytes) -> bytes:
    """Return the data in a line; empty if it has none."""
    line = line.strip()
    if line.startswith(_NOT_DATA):
        return b""
    if line.startswith(_WITH_DATA):
        line = line.partition(b":")[2].strip()
    return b"" if line == _DONE else line


def _choices(value: Any) -> Iterator[tuple[int, bool]]:
    """Yield the index of each choice in a value, and whether the choice ends there. Most answers have choice 0 only.

    The last token of TGI and LMI has the whole text. A value that is neither a token nor OpenAI's chunk is a whole
    answer.
    """
    if not isinstance(value, dict):
        yield 0, True
    elif isinstance(choices := value.get("choices"), list):
        for choice in choices:
            if isinstance(choice, dict):
                index = choice.get("index")
                yield index if isinstance(index, int) else 0, "message" in choice or bool(choice.get("finish_reason"))
    else:
        yield 0, not isinstance(value.get("token"), dict) or isinstance(value.get("generated_text"), str)


def _is_error(value: dict[str, Any]) -> bool:
    """Whether a value is an engine's error.

    LMI: `{"error", "code"}` or `{"code", "message"}`. vLLM, SGLang, llama.cpp: `{"error": {}}`. TGI: `{"error_type"}`.
    A rolling batch of LMI ends with a token, or a choice, whose reason to finish is an error.
    """
    code, details = value.get("code"), value.get("details")
    choices = value.get("choices")
    return bool(
        value.get("error")
        or value.get("object") == "error"
        or (isinstance(code, int) and code >= 400 and not any(name in value for name in _ANSWERS))
        or any(_failed(each) for each in [details, *(choices if isinstance(choices, list) else [])])
    )


def _failed(holder: Any) -> bool:
    return isinstance(holder, dict) and holder.get("finish_reason") == "error"
