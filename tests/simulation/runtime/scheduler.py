"""Virtual time: tasks run one at a time, and the clock jumps to the next event."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from itertools import count
from typing import NoReturn, TypeVar, cast

import greenlet

T = TypeVar("T")
FOREVER = float("inf")


class Killed(BaseException):
    """Ends a task at its current call. Not an Exception, so that no handler catches it."""


class Timer:
    """A scheduled action. After cancel() it does nothing."""

    __slots__ = ("action",)

    def __init__(self, action: Callable[[], object]) -> None:
        self.action: Callable[[], object] | None = action

    def cancel(self) -> None:
        self.action = None


class Task(greenlet.greenlet):
    """A task, which runs until it sleeps or waits."""

    def __init__(self, scheduler: Scheduler, work: Callable[[], object]) -> None:
        super().__init__(parent=scheduler.hub)
        self.scheduler = scheduler
        self.finished = Signal(scheduler)
        self.killed = False
        self._work = work
        self._wake_up: Timer | None = None

    def run(self) -> None:
        try:
            self._work()
        except Killed:
            pass
        finally:
            self.finished.set()

    def resume_in(self, seconds: float) -> None:
        if self._wake_up is not None:
            self._wake_up.cancel()
        self._wake_up = self.scheduler.call_later(seconds, self.switch)

    def kill(self) -> None:
        """End the task at its current call; calls in its `finally` fail, too. A task must not kill itself."""
        if self.finished.is_set or self.killed:
            return
        self.killed = True
        if self._wake_up is not None:
            self._wake_up.cancel()
        if self:  # it has begun
            self.scheduler.call_later(0, lambda: self.throw(Killed))
        else:
            self.finished.set()


class Scheduler:
    """All events of one simulated world, in order. now: seconds since the epoch."""

    def __init__(self, start: float) -> None:
        self.now = start
        self.hub = greenlet.getcurrent()
        self._queue: list[tuple[float, int, Timer]] = []
        self._order = count()
        self._until = FOREVER

    def call_later(self, seconds: float, action: Callable[[], object]) -> Timer:
        """Call `action` after `delay` seconds. It must neither sleep nor wait."""
        timer = Timer(action)
        heapq.heappush(self._queue, (self.now + max(seconds, 0.0), next(self._order), timer))
        return timer

    def spawn(self, work: Callable[[], object], delay: float = 0) -> Task:
        """Run `work` as a new task, which may sleep and wait."""
        task = Task(self, work)
        task.resume_in(delay)
        return task

    def current(self) -> Task:
        """Return the task that is running."""
        return cast(Task, greenlet.getcurrent())

    def die(self) -> NoReturn:
        """End the calling task; calls in its `finally` fail, too."""
        self.current().killed = True
        raise Killed

    def sleep(self, seconds: float) -> None:
        """Let virtual time pass for the calling task."""
        task = self.current()
        if task.killed:
            raise Killed
        then = self.now + max(seconds, 0.0)
        if then <= self._until and (not self._queue or then < self._queue[0][0]):
            self.now = then  # nothing else happens before, so the task just goes on
            return
        task.resume_in(seconds)
        self.hub.switch()

    def run(self, seconds: float = FOREVER) -> None:
        """Run all events within `seconds`. Raises the errors of tasks."""
        self._until = self.now + seconds
        while self._queue and self._queue[0][0] <= self._until:
            self.now, _, timer = heapq.heappop(self._queue)
            if timer.action is not None:
                timer.action()
        if self._until != FOREVER:
            self.now = self._until

    def finish(self, work: Callable[[], T]) -> T:
        """Run `work` as a task, and all other events. Return the result of `work`."""
        results: list[T] = []
        self.spawn(lambda: results.append(work()))
        self.run()
        return results[0]


class Signal:
    """An event that happens once. Tasks can wait for it."""

    def __init__(self, scheduler: Scheduler) -> None:
        self.is_set = False
        self._scheduler = scheduler
        self._waiting: list[Task] = []
        self._then: list[Callable[[], object]] = []

    def set(self) -> None:
        self.is_set = True
        for action in self._then:
            action()
        for task in self._waiting:
            task.resume_in(0)
        self._waiting = []

    def then(self, action: Callable[[], object]) -> None:
        """Call `action` when the event happens; it must neither sleep nor wait."""
        self._then.append(action)

    def wait(self, seconds: float = FOREVER) -> bool:
        """Wait for the event, at most `seconds`. Return whether it has happened."""
        task = self._scheduler.current()
        if task.killed:
            raise Killed
        if not self.is_set:
            self._waiting.append(task)
            if seconds != FOREVER:
                task.resume_in(seconds)
            self._scheduler.hub.switch()
            if task in self._waiting:
                self._waiting.remove(task)
        return self.is_set
