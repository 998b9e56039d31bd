"""Sleeping processes of instances: woken by the cloud's clock, and waited for by an advance until they sleep again."""

import contextlib
import socket
import threading
from collections.abc import Callable

from local_cloud.emulator import clock

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
        while line := _next(connection):
            seconds, instance_id = line.decode().split()
            clock.begin_work()
            if told := when_asleep.pop(instance_id, None):
                told()
            clock.sleep(clock.shortened(float(seconds)), in_work=True, is_chore=True)
            try:
                connection.sendall(b".")
                _wait_until_readable(connection)
            finally:
                clock.end_work()


def _next(connection: socket.socket) -> bytes:
    line = b""
    while not line.endswith(b"\n"):
        if not (part := connection.recv(64)):
            return b""
        line += part
    return line


def _wait_until_readable(connection: socket.socket) -> None:
    """Until it asks for the next sleep, or is gone."""
    connection.settimeout(_LONGEST_WORK)
    try:
        connection.recv(1, socket.MSG_PEEK)
    except TimeoutError:
        pass
    finally:
        connection.settimeout(None)
