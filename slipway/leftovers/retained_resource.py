"""A resource that CloudFormation retained."""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class RetainedResource:
    """One retained resource.

    holds: its content in words. protected: the command that lifts its deletion protection; None = it is not protected.
    """

    kind: str
    name: str
    holds: str
    remove: Callable[[], None]
    protected: str | None = None
