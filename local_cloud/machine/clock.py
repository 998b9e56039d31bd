"""The cloud's clock inside an instance: time.time() and time.sleep() follow it, and an advance wakes sleepers."""

import contextlib
import mmap
import os
import select
import socket
import struct
import threading
import time

# Holds the clock's file, the cloud's start, its speed, and the port that wakes sleepers.
SETTING = "SLIPWAY_LOCAL_INSTANCE_CLOCK"

_real_time, _real_sleep = time.time, time.sleep
_real_wait = threading.Event.wait
_thread = threading.local()
_LOOK_EVERY_SECONDS = 0.05  # in real seconds: how late a set event may be noticed


def setting(file: str, started: float, speed: float, port: int) -> str:
    """The value of the variable SETTING for the processes of an instance."""
    return f"{port}|{started!r}|{speed!r}|{file}"


def install() -> None:
    """Replace time.time() and time.sleep() in this process."""
    _, started, speed, file = os.environ[SETTING].split("|", 3)
    with open(file, "rb") as opened:
        ahead = mmap.mmap(opened.fileno(), 8, access=mmap.ACCESS_READ)

    def now() -> float:
        moved = _real_time() + float(struct.unpack("d", ahead[:8])[0])
        return float(started) + (moved - float(started)) * float(speed)

    time.time, time.sleep = now, sleep  # type: ignore[assignment]
    threading.Event.wait = _wait  # type: ignore[assignment,method-assign]


def sleep(seconds: float) -> None:
    """Sleep for this many seconds of the cloud.

    An advance of the clock wakes the thread, and goes on when it sleeps again or has ended.
    """
    try:
        connection = _connection()
        connection.sendall(_request(seconds))
        if connection.recv(1):
            return
    except OSError:
        pass
    _thread.connection = None  # the cloud has ended, and this machine ends with it
    _real_sleep(min(seconds, 1))


def _wait(event: threading.Event, timeout: float | None = None) -> bool:
    """Like Event.wait, in seconds of the cloud."""
    if timeout is None or event.is_set():
        return _real_wait(event)
    with contextlib.suppress(OSError):
        connection = _connection()
        connection.sendall(_request(timeout))
        while not event.is_set():
            if select.select([connection], [], [], _LOOK_EVERY_SECONDS)[0]:
                connection.recv(1)
                return event.is_set()
        connection.close()  # the sleeper need not be woken any more
    _thread.connection = None
    return event.is_set()


def _request(seconds: float) -> bytes:
    return f"{seconds} {os.environ['SLIPWAY_LOCAL_INSTANCE_ID']}\n".encode()


def _connection() -> socket.socket:
    connection: socket.socket | None = getattr(_thread, "connection", None)
    if connection is None:
        connection = socket.create_connection(("127.0.0.1", int(os.environ[SETTING].split("|")[0])))
        with contextlib.suppress(OSError):
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        _thread.connection = connection
    return connection
