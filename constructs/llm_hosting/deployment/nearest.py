"""Offers the nearest allowed values for a misspelt one."""

import difflib
from collections.abc import Iterable

_MOST_SHOWN = 20


def nearest(name: str, known: Iterable[str]) -> str:
    """Return the nearest allowed values, for example "one of ml.g5.xlarge, ml.g5.2xlarge".

    If none is near and the list is too long to read, return one value as an example.
    """
    choices = sorted(known)
    near = difflib.get_close_matches(name, choices, n=5, cutoff=0.5)
    if not near and len(choices) > _MOST_SHOWN:
        return f"one of the {len(choices)} that are known, such as {choices[0]}"
    near = near or choices
    if not near:
        return "one that exists (there is none yet)"
    return near[0] if len(near) == 1 else f"one of {', '.join(near)}"
