"""The queue of an asynchronous endpoint: invocations wait until an instance has room for them, or expire."""

import threading
import time
from collections import deque
from collections.abc import Callable

from local_cloud.emulator.core import ministack
from local_cloud.emulator.sagemaker.asynchronous.processing import expire, process
from local_cloud.emulator.sagemaker.containers.call import ContainerAwayError
from local_cloud.emulator.sagemaker.containers.instance import EndpointInstance
from local_cloud.emulator.sagemaker.containers.instance_group import InstanceGroup
from local_cloud.emulator.sagemaker.containers.traffic import Traffic
from local_cloud.emulator.sagemaker.requests.async_invocation import AsyncInvocation

# How often the queue looks for ready instances and for expired requests.
_LOOK_INTERVAL_IN_SECONDS = 0.05


class AsyncQueue:
    """The queue of one endpoint. It outlives the instances of a configuration: an update loses no invocation."""

    def __init__(self, endpoint: str, traffic: Traffic) -> None:
        self._waiting: deque[AsyncInvocation] = deque()
        self._running: set[AsyncInvocation] = set()
        self._traffic = traffic
        self._changed = threading.Condition()
        self._is_open = True
        ministack.in_background(self._dispatch, name=f"queue of {endpoint}")

    def put(self, invocation: AsyncInvocation) -> None:
        with self._changed:
            self._waiting.append(invocation)
            self._changed.notify()

    def close(self) -> None:
        """Drop all invocations, and discard the outcome of those that run."""
        with self._changed:
            self._is_open = False
            self._changed.notify()

    @property
    def size(self) -> int:
        """The number of invocations that wait or are being processed."""
        return len(self._waiting) + len(self._running)

    @property
    def has_waiting(self) -> bool:
        return bool(self._waiting)

    def age_of_oldest(self) -> float:
        """Seconds of time.time() since the oldest invocation arrived, 0 without any."""
        with self._changed:
            received = [invocation.received_at for invocation in (*self._running, *self._waiting)]
        return time.time() - min(received) if received else 0.0

    def _dispatch(self) -> None:
        while self._is_open:
            for invocation in self._take_expired():
                self._start(invocation, self._expire, invocation)
            while self._start_next():
                pass
            with self._changed:
                if self._is_open:
                    self._changed.wait(_LOOK_INTERVAL_IN_SECONDS)

    def _take_expired(self) -> list[AsyncInvocation]:
        now = time.time()
        with self._changed:
            expired = [invocation for invocation in self._waiting if invocation.expires_at <= now]
            if expired:
                self._waiting = deque(each for each in self._waiting if each.expires_at > now)
        return expired

    def _start_next(self) -> bool:
        """Hand one invocation to an instance; returns false if none waits or no instance has room."""
        taken = self._traffic.take_instance() if self._waiting else None
        if taken is None:
            return False
        with self._changed:
            invocation = self._waiting.popleft()
        self._start(invocation, self._process, invocation, *taken)
        return True

    def _start(self, invocation: AsyncInvocation, work: Callable[..., None], *args: object) -> None:
        with self._changed:
            self._running.add(invocation)
        ministack.in_background(work, *args, name=f"invocation {invocation.id}")

    def _process(self, invocation: AsyncInvocation, group: InstanceGroup, instance: EndpointInstance) -> None:
        away = False
        try:
            process(invocation, group.spec, instance, lambda: self._is_open)
        except ContainerAwayError:
            away = True
        finally:
            group.give_back(instance)
            with self._changed:
                self._running.remove(invocation)
                if away:
                    self._waiting.appendleft(invocation)
                else:
                    self._changed.notify()

    def _expire(self, invocation: AsyncInvocation) -> None:
        try:
            expire(invocation, self._traffic.groups[0].spec)
        finally:
            with self._changed:
                self._running.remove(invocation)
