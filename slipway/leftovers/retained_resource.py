"""A resource that CloudFormation kept."""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class RetainedResource:
    """holds: its content in words. protected: the command that lifts its deletion protection; None = it has none."""

    kind: str
    name: str
    holds: str
    remove: Callable[[], None]
    protected: str | None = None
