"""One check of `verify`."""

from dataclasses import dataclass

NOT_DEPLOYED = "none, as the stack's parameter DeployEndpoint is false"


@dataclass(frozen=True)
class Check:
    """One question and what was seen. fix: what to do where it is not good."""

    name: str
    good: bool
    seen: str
    fix: str = ""
