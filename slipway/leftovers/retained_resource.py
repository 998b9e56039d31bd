"""A resource that CloudFormation retained, with the call that removes it."""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class RetainedResource:
    """A retained resource.

    holds: its content or its state, in words. protected: the command that lifts its deletion protection; None = it is
    not protected.
    """

    kind: str
    name: str
    holds: str
    remove: Callable[[], None]
    protected: str | None = None
