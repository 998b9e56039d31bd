"""What a run costs: estimates before it, and a meter while it runs. Prices are the catalog's, never a bill."""

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache

import yaml

from llm_hosting.catalog.instances import ec2_instances, instances
from tools.smoke.asking.question import Question
from tools.smoke.asking.stacks import SmokeStack
from tools.smoke.asking.stop import Stop

_REMOVAL_IN_SECONDS = 1800


@cache
def instance_type(stack: SmokeStack) -> str:
    return str(yaml.safe_load(stack.file.read_text())["hosting"]["instance_type"])


def usd_per_hour(stack: SmokeStack) -> float:
    """The price of one instance of the stack."""
    type_ = instance_type(stack)
    known = instances() if type_ in instances() else ec2_instances()
    return known[type_].usd_per_hour or 0


def price_of(question: Question) -> float:
    """What the question adds to a run: the instance while it is asked, and what it makes beside it."""
    return question.usd + (usd_per_hour(question.stack) * question.minutes / 60 if question.stack else 0)


def minutes_of(lane: Sequence[Question]) -> float:
    """How long the questions of one lane take; those about deploys count the removal, too."""
    return sum(each.minutes for each in lane if not each.during_deploy)


def price_of_lane(lane: Sequence[Question]) -> float:
    """The instance of the lane's stack for all that time, and what the questions make beside it."""
    stack = lane[0].stack
    return (usd_per_hour(stack) * minutes_of(lane) / 60 if stack else 0) + sum(each.usd for each in lane)


class Meter:
    """Counts the USD of stacks that exist, at their most instances, and keeps the instances within a quota.

    room: instances of endpoints that the quota lets run at once, by type.
    """

    def __init__(self, room: dict[str, int]) -> None:
        self._most, self._room, self._changed = dict(room), dict(room), threading.Condition()
        self._began: dict[SmokeStack, float] = {}
        self._spent = 0.0

    @contextmanager
    def room_for(self, stack: SmokeStack, stop: Stop) -> Iterator[None]:
        """Wait until the quota has room for the stack. Raises StoppedError."""
        type_ = instance_type(stack)
        needed = min(stack.most_instances, self._most.get(type_, 0))  # 0 = a machine, or AWS names no quota
        with self._changed:
            while self._room.get(type_, 0) < needed:
                stop.check()
                self._changed.wait(1)
            self._room[type_] = self._room.get(type_, 0) - needed
        try:
            yield
        finally:
            with self._changed:
                self._room[type_] += needed
                self._changed.notify_all()

    def begin(self, stack: SmokeStack) -> None:
        with self._changed:
            self._began.setdefault(stack, time.monotonic())

    def end(self, stack: SmokeStack) -> None:
        with self._changed:
            if (began := self._began.pop(stack, None)) is not None:
                self._spent += _usd(stack, began)

    def add(self, usd: float) -> None:
        """Count what a question made beside the stacks."""
        with self._changed:
            self._spent += usd

    @property
    def usd(self) -> float:
        """An upper estimate of what is spent if the removal of everything begins now."""
        with self._changed:
            removed = [_usd(stack, began - _REMOVAL_IN_SECONDS) for stack, began in self._began.items()]
            return self._spent + sum(removed)


def _usd(stack: SmokeStack, began: float) -> float:
    return usd_per_hour(stack) * stack.most_instances * (time.monotonic() - began) / 3600
