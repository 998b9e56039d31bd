"""Compares versions of engines and libraries."""

import re
from functools import cache

from packaging.version import Version

_NUMBER = re.compile(r"\d+(\.\d+)*(\.post\d+)?")


@cache
def version_of(label: str) -> Version:
    """Return the first version in a label: 0.36.0 of "0.36.0-lmi28", 0.14.0 of "huggingface-0.14.0"; 0 = none.

    A release candidate counts as its release, because it holds the models that the release names.
    """
    found = _NUMBER.search(label)
    return Version(found[0] if found else "0")


def is_before(label: str | None, bound: str) -> bool:
    """Whether a version is older than `bound`; False for None, an unknown version."""
    return label is not None and version_of(label) < version_of(bound)
