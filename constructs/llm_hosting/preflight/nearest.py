"""Words a choice for someone who misspelt it."""

import difflib
from collections.abc import Iterable


def nearest(name: str, known: Iterable[str]) -> str:
    """For example "one of ml.g5.xlarge, ml.g5.2xlarge"; all that is known when nothing is near."""
    choices = sorted(known)
    return f"one of {', '.join(difflib.get_close_matches(name, choices, n=5, cutoff=0.5) or choices)}"
