"""Reads a source from a file or an https URL."""

import json
import urllib.request
from http.client import HTTPException, IncompleteRead, InvalidURL
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError

from llm_hosting.file_errors import why

_TIMEOUT_IN_SECONDS = 60


class SourceError(Exception):
    """A source can't be read, or has another form than the one that we know; the message is one sentence."""


def read(source: str) -> str:
    """Return the text of a file or an https URL. Raises SourceError."""
    if "://" in source and not source.startswith("https://"):
        raise SourceError(f"{source} is not a source; name a file, a folder or an https URL.")
    try:
        return (_fetched(source) if source.startswith("https://") else Path(source).read_bytes()).decode()
    except (OSError, HTTPException, ValueError) as error:
        raise SourceError(f"{source} can't be read: {_reason(error)}.") from error


def _fetched(url: str) -> bytes:
    with urllib.request.urlopen(url, timeout=_TIMEOUT_IN_SECONDS) as answer:
        content: bytes = answer.read()
    return content


def _reason(error: OSError | HTTPException | ValueError) -> str:
    match error:
        case HTTPError():
            return f"it answers {error.code}"
        case URLError():
            return why(error.reason) if isinstance(error.reason, OSError) else str(error.reason)
        case OSError() | UnicodeDecodeError():
            return why(error)
        case IncompleteRead():
            return "its answer ends too early"
        case InvalidURL() | ValueError():
            return "it is no valid URL"
        case _:
            return "it does not answer in HTTP"


def read_json(source: str) -> Any:
    """Return the content of a JSON file. Raises SourceError."""
    try:
        return json.loads(read(source))
    except ValueError as error:
        raise SourceError(f"{source} is not valid JSON: {error}.") from error


def other_form(source: str, problem: str) -> SourceError:
    """Return the error about a source that has changed its form: nothing in it may be taken for news."""
    return SourceError(f"{source} has another form than the one that is known: {problem}.")
