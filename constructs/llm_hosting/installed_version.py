"""The versions of the installed Slipway and of the CDK that it needs."""

from importlib.metadata import PackageNotFoundError, requires, version

_OF_TEMPLATES = ("aws-cdk-lib", "cdk-nag")


class UnfitPackageError(ImportError):
    """A package of the CDK has a version that Slipway does not take; the message is one sentence with the fix."""


def installed_version() -> str:
    """Return the version of the distribution; empty for source code that is not installed."""
    try:
        return version("slipway-aws")
    except PackageNotFoundError:
        return ""


def demand_cdk() -> None:
    """Raise UnfitPackageError if the installed CDK has not the version that Slipway's package asks for.

    An installer that adds another package may put another CDK in its place, whose errors do not tell the cause.
    """
    from packaging.requirements import Requirement  # late: the command line needs only the version

    if not installed_version():
        return
    for line in requires("slipway-aws") or ():
        needed = Requirement(line)
        if needed.name in _OF_TEMPLATES and not needed.specifier.contains(found := version(needed.name), True):
            wanted = ",".join(sorted(map(str, needed.specifier), reverse=True))  # the lower bound first
            raise UnfitPackageError(
                f"{needed.name} {found} is installed, and Slipway needs {wanted}: "
                "run `pip install -r requirements.txt`."
            )
