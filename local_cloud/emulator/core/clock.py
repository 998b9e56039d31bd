"""The cloud's clock: it runs at real speed or faster, and `advance` puts it forward.

In this process `time.time()` is put forward too, so that MiniStack's services follow. At speed N, one second of
`time.time()` is N seconds of the cloud. Signatures and credentials keep to the machine's clock. Related code: the
command over HTTP in ministack.py, the clock inside functions in lambda_/functions.py.
"""

import asyncio
import mmap
import os
import struct
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Protocol

SETTING = "SLIPWAY_LOCAL_CLOCK_SPEED"
SPEED = float(os.environ.get(SETTING, "1"))
STARTED = time.time()
# The original `time` module, for code that keeps to the machine's clock.
MACHINE = SimpleNamespace(**vars(time))

# How many seconds time.time() is ahead of the machine's clock; functions' processes share this memory.
_ahead: Any = bytearray(8)
file = Path(os.devnull)


def start(path: Path) -> None:
    """Replace time.time() in this process; `path` is the file through which functions' processes learn the offset."""
    global _ahead, file
    file = path
    file.write_bytes(bytes(8))
    with file.open("r+b") as opened:
        _ahead = mmap.mmap(opened.fileno(), 8)
    time.time = lambda: MACHINE.time() + seconds_ahead()


def seconds_ahead() -> float:
    ahead: float = struct.unpack("d", _ahead[:8])[0]
    return ahead


def now() -> float:
    """The cloud's time, in seconds of the epoch."""
    return STARTED + (time.time() - STARTED) * SPEED


def shortened(seconds: float) -> float:
    """Convert seconds of the cloud into seconds of time.time()."""
    return seconds / SPEED


class Bell(Protocol):
    """An event of `threading` or `asyncio`."""

    def set(self) -> None: ...


@dataclass(eq=False)
class Sleeper:
    """A thread or task that waits for the clock."""

    ends_at: float
    is_working: bool
    is_chore: bool
    woken: Bell


_sleepers: list[Sleeper] = []
_work_in_progress = 0
_changed = threading.Condition()


def begin_work() -> None:
    """Count real work, such as the start of a process: an advance waits until it ends or sleeps."""
    _count_work(1)


def end_work() -> None:
    _count_work(-1)


def _count_work(change: int) -> None:
    global _work_in_progress
    with _changed:
        _work_in_progress += change
        _changed.notify_all()


def sleep(seconds: float, *, in_work: bool = False, is_chore: bool = False) -> None:
    """Sleep for this many seconds of time.time().

    in_work: the sleep is part of work that an advance waits for. is_chore: the work never ends; nobody awaits its end.
    """
    woken = threading.Event()
    sleeper = Sleeper(time.time() + seconds, in_work, is_chore, woken)
    with _changed:
        _sleepers.append(sleeper)
        _count_work(-in_work)
    while (left := sleeper.ends_at - time.time()) > 0 and not woken.wait(left):
        pass
    with _changed:
        _wake(sleeper)


def is_awaited() -> bool:
    """Whether work such as an endpoint's update is sleeping until the clock moves on."""
    with _changed:
        return any(sleeper.is_working and not sleeper.is_chore for sleeper in _sleepers)


def stop_at(moment: float, woken: Bell) -> Sleeper:
    """Make an advance stop at this moment of time.time() and set `woken`, unless `forget` is called before."""
    sleeper = Sleeper(moment, True, True, woken)
    with _changed:
        _sleepers.append(sleeper)
    return sleeper


def forget(sleeper: Sleeper) -> bool:
    """Remove a sleeper; returns whether an advance has already woken it, as work in progress until end_work()."""
    with _changed:
        if is_asleep := sleeper in _sleepers:
            _sleepers.remove(sleeper)
    return not is_asleep


def _wake(sleeper: Sleeper) -> None:
    """Wake a sleeper; its work counts as in progress at once, although its thread has yet to wake."""
    if sleeper in _sleepers:
        _sleepers.remove(sleeper)
        _count_work(sleeper.is_working)
        sleeper.woken.set()


@dataclass(eq=False)
class _Chore:
    do: Callable[[], None]
    interval: float
    skips_missed: bool
    due_at: float


_chores: list[_Chore] = []


def repeat(chore: Callable[[], None], interval: float, *, skips_missed: bool = False) -> None:
    """Run a short chore at this interval of time.time(), on the event loop.

    An advance runs it as often as it became due; with skips_missed only once, at its end.
    """
    _chores.append(_Chore(chore, interval, skips_missed, time.time() + interval))


async def run() -> None:
    """Run the chores when they are due, until cancelled. A failing chore ends the emulator; the log names it."""
    for chore in _chores:
        chore.due_at = time.time() + chore.interval
    while True:
        for chore in _chores:
            _do_if_due(chore)
        await asyncio.sleep(min(chore.due_at for chore in _chores) - time.time())


def _do_if_due(chore: _Chore) -> None:
    if chore.due_at <= time.time():
        chore.do()
        # Catch up if late, but leave half of the time to requests.
        chore.due_at = max(chore.due_at + chore.interval, time.time() + chore.interval / 2)


_advancing = asyncio.Lock()


async def advance(seconds: float) -> None:
    """Put the clock forward from one due chore or sleeper to the next; each is finished before the next begins."""
    async with _advancing:
        end = time.time() + shortened(seconds)
        await _wait_for_work()
        while (moment := _next_moment()) < end:
            await _move_to(moment)
        await _move_to(end)
        for chore in _chores:
            if chore.skips_missed:
                _do_if_due(chore)


def _next_moment() -> float:
    with _changed:
        return min(
            *(sleeper.ends_at for sleeper in _sleepers), *(each.due_at for each in _chores if not each.skips_missed)
        )


async def _move_to(moment: float) -> None:
    _ahead[:8] = struct.pack("d", seconds_ahead() + max(0.0, moment - time.time()))
    with _changed:
        for sleeper in [each for each in _sleepers if each.ends_at <= time.time()]:
            _wake(sleeper)
    for chore in _chores:
        if not chore.skips_missed:
            _do_if_due(chore)
    await _wait_for_work()


async def _wait_for_work() -> None:
    if _work_in_progress:
        await asyncio.to_thread(_wait_until_idle)


def _wait_until_idle() -> None:
    with _changed:
        _changed.wait_for(lambda: _work_in_progress == 0)
