"""Words a choice for someone who misspelt it."""

import difflib
from collections.abc import Iterable


def nearest(name: str, known: Iterable[str]) -> str:
    """For example "one of ml.g5.xlarge, ml.g5.2xlarge"; all that is known when nothing is near."""
    choices = sorted(known)
    near = difflib.get_close_matches(name, choices, n=5, cutoff=0.5) or choices
    if not near:
        return "one that exists (there is none yet)"
    return near[0] if len(near) == 1 else f"one of {', '.join(near)}"
