"""A resource that CloudFormation retained, with the call that removes it; and the error while one is changing."""

from collections.abc import Callable
from dataclasses import dataclass


class BusyEndpointError(Exception):
    """An endpoint is between two configurations, or a component between two states; the message is one sentence."""


@dataclass(frozen=True)
class RetainedResource:
    """A retained resource.

    holds: its content or its state, in words. protected: the command that lifts its deletion protection; None = it is
    not protected. bills: whether it bills by the hour, used or not.
    """

    kind: str
    name: str
    holds: str
    remove: Callable[[], None]
    protected: str | None = None
    bills: bool = False
