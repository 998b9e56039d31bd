"""Wakes sleeping processes of instances by the cloud's clock; an advance of it waits until they sleep again."""

import contextlib
import socket
import threading
from collections.abc import Callable
from typing import Self

from local_cloud.emulator.core import clock

# In real seconds: how long an advance waits for a process that does not sleep again.
_LONGEST_WORK = 1.0
# By instance id: a function that is called once, when one of its processes next sleeps.
when_asleep: dict[str, Callable[[], None]] = {}
_listener: socket.socket | None = None


def port() -> int:
    """The port on which `local_cloud.machine.clock` asks to be woken; the first call opens it."""
    global _listener
    if _listener is None:
        _listener = socket.create_server(("127.0.0.1", 0))
        threading.Thread(target=_accept, args=(_listener,), daemon=True).start()
    return int(_listener.getsockname()[1])


def _accept(listener: socket.socket) -> None:
    while True:
        connection, _ = listener.accept()
        threading.Thread(target=_serve, args=(connection,), daemon=True).start()


def _serve(connection: socket.socket) -> None:
    """Serve one thread of a process: it sends seconds and its instance id; a byte answers when they have passed."""
    with connection, contextlib.suppress(OSError):
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with _Work() as work:
            while line := _next(connection, work):
                seconds, instance_id = line.decode().split()
                work.begin()
                if told := when_asleep.pop(instance_id, None):
                    told()
                clock.sleep(clock.shortened(float(seconds)), in_work=True, is_chore=True)
                connection.sendall(b".")


class _Work:
    """The thread's work between two sleeps, for which an advance waits."""

    def __init__(self) -> None:
        self.is_in_progress = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def begin(self) -> None:
        if not self.is_in_progress:
            clock.begin_work()
        self.is_in_progress = True

    def end(self) -> None:
        if self.is_in_progress:
            clock.end_work()
        self.is_in_progress = False


def _next(connection: socket.socket, work: _Work) -> bytes:
    """The next line, b"" if the thread has ended. Its work counts as over if no line comes for _LONGEST_WORK."""
    connection.settimeout(_LONGEST_WORK)
    try:
        line = connection.recv(64)
    except TimeoutError:
        work.end()
        connection.settimeout(None)
        line = connection.recv(64)
    connection.settimeout(None)
    while line and not line.endswith(b"\n"):
        line += connection.recv(64)
    return line
