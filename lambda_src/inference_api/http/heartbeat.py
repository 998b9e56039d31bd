"""Keeps a caller's connection open while nothing comes."""

from collections.abc import Callable, Generator, Iterator
from queue import Empty, SimpleQueue
from threading import Event, Thread

from inference_api.http.streaming_runtime import close
from inference_api.shared.time_budget import BEAT

COMMENT = b": waiting for the model\n\n"  # which readers of server-sent events skip
SPACE = b" "  # which readers of JSON skip
# What is left of a read ends in a moment; the function is frozen at the end of its answer, and may never go on.
_TO_END_IN_SECONDS = 2


def opened(
    pieces: Iterator[bytes],
    beat: bytes = COMMENT,
    *,
    first_after: float = BEAT,
    every: float = BEAT,
    interrupt: Callable[[], None] = lambda: None,
) -> Generator[bytes, None, None]:
    """The pieces, and a beat whenever so many seconds pass without one.

    first_after: before the first piece. Until then an error that the pieces raise has a status of its own.
    interrupt: ends a read that another thread waits in; called at the end, as that thread alone can close its pieces.
    """
    found: SimpleQueue[bytes | Exception | None] = SimpleQueue()
    closed = Event()
    reader = Thread(target=_read, args=(pieces, found.put, closed), daemon=True)
    reader.start()
    wait = first_after
    try:
        while True:
            try:
                piece = found.get(timeout=wait)
            except Empty:
                piece = beat
            if piece is None:
                return
            if isinstance(piece, Exception):
                raise piece
            wait = every
            yield piece
    finally:
        closed.set()
        interrupt()
        reader.join(_TO_END_IN_SECONDS)


def _read(pieces: Iterator[bytes], put: Callable[[bytes | Exception | None], None], closed: Event) -> None:
    end = None
    try:
        for piece in pieces:
            if closed.is_set():
                break
            put(piece)
    except Exception as error:
        end = error
    finally:
        close(pieces)
        put(end)
