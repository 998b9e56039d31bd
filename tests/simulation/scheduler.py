"""Virtual time: tasks that read like threads run one at a time, and the clock jumps to whatever comes next."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from itertools import count
from typing import TypeVar, cast

import greenlet

T = TypeVar("T")
FOREVER = float("inf")


class Killed(BaseException):
    """Ends a task where it stands. Not an Exception, so that no handler can catch its own death."""


class Timer:
    """An action to come; once cancelled it stays in the queue and does nothing."""

    __slots__ = ("action",)

    def __init__(self, action: Callable[[], object]) -> None:
        self.action: Callable[[], object] | None = action

    def cancel(self) -> None:
        self.action = None


class Task(greenlet.greenlet):
    """A flow of control that runs until it sleeps or waits."""

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
        """End it where it stands; what it tries on its way out fails, too. Not for a task to call on itself."""
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
    """Everything that happens in one simulated world, in order. `now` is in seconds of the epoch."""

    def __init__(self, start: float) -> None:
        self.now = start
        self.hub = greenlet.getcurrent()
        self._queue: list[tuple[float, int, Timer]] = []
        self._order = count()
        self._until = FOREVER

    def call_later(self, seconds: float, action: Callable[[], object]) -> Timer:
        """`action` must neither sleep nor wait."""
        timer = Timer(action)
        heapq.heappush(self._queue, (self.now + max(seconds, 0.0), next(self._order), timer))
        return timer

    def spawn(self, work: Callable[[], object], delay: float = 0) -> Task:
        """Run `work` as a task of its own, which may sleep and wait."""
        task = Task(self, work)
        task.resume_in(delay)
        return task

    def current(self) -> Task:
        """The task that is running."""
        return cast(Task, greenlet.getcurrent())

    def sleep(self, seconds: float) -> None:
        """Let virtual time pass for the task that calls."""
        task = self.current()
        if task.killed:
            raise Killed
        then = self.now + max(seconds, 0.0)
        if then <= self._until and (not self._queue or then < self._queue[0][0]):
            self.now = then  # nothing else happens before: the task simply goes on
            return
        task.resume_in(seconds)
        self.hub.switch()

    def run(self, seconds: float = FOREVER) -> None:
        """Let everything happen that is due within `seconds`; an error in a task comes out here."""
        self._until = self.now + seconds
        while self._queue and self._queue[0][0] <= self._until:
            self.now, _, timer = heapq.heappop(self._queue)
            if timer.action is not None:
                timer.action()
        if self._until != FOREVER:
            self.now = self._until

    def finish(self, work: Callable[[], T]) -> T:
        """What `work` returns, run as a task; everything else that is due happens as well."""
        results: list[T] = []
        self.spawn(lambda: results.append(work()))
        self.run()
        return results[0]


class Signal:
    """Something that happens once and that tasks can wait for."""

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
        """Have `action` done when it happens; it must neither sleep nor wait."""
        self._then.append(action)

    def wait(self, seconds: float = FOREVER) -> bool:
        """Whether it has happened by the time this returns, after at most `seconds`."""
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
