"""The version of the installed Slipway."""

from importlib.metadata import PackageNotFoundError, version


def installed_version() -> str:
    """Return the version of the distribution; empty for source code that is not installed."""
    try:
        return version("slipway-aws")
    except PackageNotFoundError:
        return ""
