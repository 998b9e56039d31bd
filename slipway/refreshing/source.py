"""Reads a source from a file or an https URL."""

import json
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

from llm_hosting.file_errors import why

_TIMEOUT_IN_SECONDS = 60


class SourceError(Exception):
    """A source can't be read, or has another form than the one that we know; the message is one sentence."""


def read(source: str) -> str:
    """Return the text of a file or an https URL. Raises SourceError."""
    if "://" in source and not source.startswith("https://"):
        raise SourceError(f"{source} is not a source; name a file, a folder or an https URL.")
    try:
        if source.startswith("https://"):
            with urllib.request.urlopen(source, timeout=_TIMEOUT_IN_SECONDS) as answer:
                return str(answer.read().decode())
        return Path(source).read_text()
    except urllib.error.HTTPError as error:
        raise SourceError(f"{source} can't be read: it answers {error.code}.") from error
    except urllib.error.URLError as error:
        reason = why(error.reason) if isinstance(error.reason, OSError) else error.reason
        raise SourceError(f"{source} can't be read: {reason}.") from error
    except (OSError, UnicodeError) as error:
        raise SourceError(f"{source} can't be read: {why(error)}.") from error


def read_json(source: str) -> Any:
    """Return the content of a JSON file. Raises SourceError."""
    try:
        return json.loads(read(source))
    except ValueError as error:
        raise SourceError(f"{source} is not valid JSON: {error}.") from error


def other_form(source: str, problem: str) -> SourceError:
    """Return the error about a source that has changed its form: nothing in it may be taken for news."""
    return SourceError(f"{source} has another form than the one that is known: {problem}.")
