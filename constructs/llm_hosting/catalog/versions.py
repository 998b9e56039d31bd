"""Versions of engines and libraries, compared as releases."""

import re
from functools import cache

from packaging.version import Version


def is_before(version: str | None, bound: str) -> bool:
    """Whether a version is older than `bound`; False for a version that is unknown or holds no number."""
    release = _release(version) if version else None
    return release is not None and release < Version(bound)


@cache
def _release(label: str) -> Version | None:
    """The release that a label begins with: 0.36.0 of "0.36.0-lmi28", 0.22.1 of "0.22.1rc0"."""
    named = re.search(r"\d+(\.\d+)*(\.post\d+)?", label)
    return Version(named[0]) if named else None
