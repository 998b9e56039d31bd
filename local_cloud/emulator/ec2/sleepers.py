"""Sleeping processes of instances: woken by the cloud's clock, and waited for by an advance until they sleep again."""

import contextlib
import socket
import threading
from collections.abc import Callable
from typing import Self

from local_cloud.emulator.core import clock

# In real seconds: an advance waits no longer for a process that does something else after its sleep.
_LONGEST_WORK = 1.0
# Of an instance: called when one of its processes sleeps for the next time.
when_asleep: dict[str, Callable[[], None]] = {}
_listener: socket.socket | None = None


def port() -> int:
    """Where `local_cloud.machine.clock` asks to be woken; listens from the first call on."""
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
    """One thread of a process: a line of seconds and its instance is answered by a byte when they are over."""
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
    """What the thread does between two sleeps, as far as an advance waits for it."""

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
    """The next line, b"" from a thread that is gone; the work ends when none comes for long."""
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
