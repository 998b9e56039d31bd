"""Sizes as text."""


def size(count: float) -> str:
    """Return a number of bytes in decimal units, for example `12.4 GB`."""
    for unit in ("kB", "MB", "GB"):
        count /= 1000
        if count < 1000:
            return f"{count:.1f} {unit}"
    return f"{count / 1000:.1f} TB"
