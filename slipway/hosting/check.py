"""The result of one check of `verify`."""

from dataclasses import dataclass

NOT_DEPLOYED = "none, as the stack's parameter DeployEndpoint is false"


@dataclass(frozen=True)
class Check:
    """The result of one check. seen: what AWS or the API showed. fix: the repair if the result is not good."""

    name: str
    good: bool
    seen: str
    fix: str = ""
