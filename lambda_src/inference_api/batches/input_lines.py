"""The input of a batch: JSON lines, checked before any of them runs, with bounded memory."""

from collections.abc import Collection, Iterable, Iterator
from hashlib import sha256
from typing import Any, NamedTuple

from inference_api.batches.plan import BLOCK_BYTES, BLOCK_LINES
from inference_api.http.strict_json import MAX_DEPTH, read_strict_json
from inference_api.shared.errors import ApiError

MOST_LINES = 50_000
LONGEST_CUSTOM_ID = 512
# Room for the members of a line beside its body.
_ENVELOPE_BYTES = 2048
_MOST_PROBLEMS = 50


class InputLine(NamedTuple):
    """One request. number: the line's in the file, from 1."""

    number: int
    custom_id: str
    body: dict[str, Any]


class CheckedInput(NamedTuple):
    """The result of a check. blocks: first line, offset and length in bytes; empty if there are problems."""

    lines: int
    blocks: list[tuple[int, int, int]]
    problems: list[dict[str, Any]]


class _Problem(Exception):
    def __init__(self, code: str, message: str, param: str | None = None) -> None:
        super().__init__(code)
        self.code, self.message, self.param = code, message, param


def check_input(
    chunks: Iterable[bytes], endpoint: str, models: Collection[str] | None, most_body_bytes: int
) -> CheckedInput:
    """Check all lines. models: the names of models that a line may use; None = any."""
    longest = most_body_bytes + _ENVELOPE_BYTES
    seen: set[bytes] = set()
    blocks: list[list[int]] = []
    problems: list[dict[str, Any]] = []
    lines, in_block = 0, BLOCK_LINES
    for number, offset, raw in split_lines(chunks, longest):
        if not raw.strip():
            continue
        lines += 1
        if lines > MOST_LINES:
            problems.append(_problem("too_many_tasks", f"The file has more than {MOST_LINES} lines; send several."))
            break
        try:
            _check(raw, endpoint, models, seen, longest)
        except _Problem as problem:
            problems.append(_problem(problem.code, problem.message, problem.param, number))
            if len(problems) == _MOST_PROBLEMS:
                break
        if in_block == BLOCK_LINES or offset + len(raw) - blocks[-1][1] > BLOCK_BYTES:
            blocks.append([number, offset, 0])
            in_block = 0
        in_block += 1
        blocks[-1][2] = offset + len(raw) - blocks[-1][1]
    if not lines:
        problems.append(_problem("empty_file", "The file has no lines; send one request a line."))
    return CheckedInput(lines, [] if problems else [(first, at, size) for first, at, size in blocks], problems)


def read_block(raw: bytes, first: int) -> list[InputLine]:
    """Return the requests of a block that has been checked. first: the number of its first line."""
    lines = []
    for number, line in enumerate(raw.split(b"\n"), first):
        if line.strip():
            document = _read(line)
            lines.append(InputLine(number, document["custom_id"], document["body"]))
    return lines


def split_lines(chunks: Iterable[bytes], longest: int) -> Iterator[tuple[int, int, bytes]]:
    """Yield number, offset and bytes of each line, without its end. A line past `longest` is cut."""
    number, offset, start, kept = 1, 0, 0, bytearray()
    for chunk in chunks:
        pieces = chunk.split(b"\n")
        for piece in pieces[:-1]:
            kept += piece[: longest + 1 - len(kept)] if len(kept) <= longest else b""
            yield number, start, bytes(kept)
            kept.clear()
            offset += len(piece) + 1
            number, start = number + 1, offset
        kept += pieces[-1][: longest + 1 - len(kept)] if len(kept) <= longest else b""
        offset += len(pieces[-1])
    if kept:
        yield number, start, bytes(kept)


def _check(raw: bytes, endpoint: str, models: Collection[str] | None, seen: set[bytes], longest: int) -> None:
    if len(raw) > longest:
        raise _Problem("line_too_large", f"This line has more than {longest} bytes; send a shorter request.")
    try:
        document = _read(raw)
    except ApiError as error:
        raise _Problem("invalid_json_line", f"This line is not parseable as valid JSON. {error.message}") from None
    if not isinstance(document, dict):
        raise _Problem("invalid_json_line", "This line is not a JSON object.")
    custom_id, body = document.get("custom_id"), document.get("body")
    if not isinstance(custom_id, str) or not 0 < len(custom_id) <= LONGEST_CUSTOM_ID:
        message = f"custom_id: must be a string of 1 to {LONGEST_CUSTOM_ID} characters."
        raise _Problem("invalid_custom_id", message, "custom_id")
    digest = sha256(custom_id.encode()).digest()[:16]
    if digest in seen:
        message = "The custom_id of this request is that of another one; it must be unique in a batch."
        raise _Problem("duplicate_custom_id", message, "custom_id")
    seen.add(digest)
    if document.get("method") != "POST":
        raise _Problem("invalid_method", "method: must be POST.", "method")
    if document.get("url") != endpoint:
        raise _Problem("url_mismatch", f"url: must be the batch's endpoint, {endpoint}.", "url")
    if not isinstance(body, dict):
        raise _Problem("invalid_body", "body: must be a JSON object, the body of the request.", "body")
    if models is not None and body.get("model") not in models:
        message = f"body.model: this deployment has no such model; use one of {', '.join(sorted(models))}."
        raise _Problem("model_not_found", message, "body.model")


def _read(raw: bytes) -> Any:
    """Parse a line, which has one level more than its body. Raises ApiError.

    Editors on Windows may begin a file with a byte order mark, which is dropped, and end lines with CR LF, which JSON
    allows.
    """
    return read_strict_json(raw.removeprefix(b"\xef\xbb\xbf"), MAX_DEPTH + 1)


def _problem(code: str, message: str, param: str | None = None, line: int | None = None) -> dict[str, Any]:
    return {"code": code, "message": message, "param": param, "line": line}
