"""Passes an answer on while it is being produced."""

import asyncio
import contextlib
import socket
import threading
from collections.abc import Iterator
from typing import Any


class Relay:
    """Carries an answer from a connection, read by a thread, to a caller on the event loop."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._pieces: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._lock = threading.Lock()
        self._connection: socket.socket | None = None
        self.is_closed = False

    def attach(self, connection: socket.socket) -> None:
        """Set the connection that the pieces come from."""
        with self._lock:
            self._connection = connection
        if self.is_closed:
            self.close()

    def detach(self) -> None:
        """Forget the connection: all pieces have come, and its next work belongs to another caller."""
        with self._lock:
            self._connection = None

    def put(self, piece: bytes) -> None:
        self._loop.call_soon_threadsafe(self._pieces.put_nowait, piece)

    def end(self) -> None:
        """Say that no further piece comes."""
        self._loop.call_soon_threadsafe(self._pieces.put_nowait, None)

    async def next_piece(self, seconds: float) -> bytes | None:
        """The next piece, None after the last; raises TimeoutError after this many seconds without one."""
        return await asyncio.wait_for(self._pieces.get(), max(0.0, seconds))

    def close(self) -> None:
        """Cut the connection: the caller does not want the rest."""
        self.is_closed = True
        with self._lock, contextlib.suppress(OSError):
            if self._connection:
                self._connection.shutdown(socket.SHUT_RDWR)

    @contextlib.contextmanager
    def closed_with(self, receive: Any) -> Iterator[asyncio.Future[None]]:
        """Close the relay at the end, or earlier if the caller hangs up; the future is done then."""
        gone = asyncio.ensure_future(_disconnection(receive))
        gone.add_done_callback(lambda _: self.close())
        try:
            yield gone
        finally:
            gone.cancel()


async def _disconnection(receive: Any) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
