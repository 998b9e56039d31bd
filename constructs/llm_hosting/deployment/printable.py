"""Texts of others that are safe to print."""

import re
from typing import Any

# Signs that move a terminal's cursor, change its colours or turn the direction of its text, and halves of a sign.
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def printable(value: Any) -> Any:
    """Return the content of a JSON file with a space for each control character."""
    if isinstance(value, str):
        return _CONTROL.sub(" ", value)
    if isinstance(value, list):
        return [printable(each) for each in value]
    return {printable(name): printable(value[name]) for name in value} if isinstance(value, dict) else value
