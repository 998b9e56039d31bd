"""Keeps a caller's connection open while the model is silent."""

from collections.abc import Callable, Generator, Iterator
from queue import Empty, SimpleQueue
from threading import Event, Thread

from inference_api.http.streaming_runtime import close
from inference_api.shared.time_budget import BEAT

COMMENT = b": waiting for the model\n\n"  # which readers of server-sent events skip
SPACE = b" "  # which readers of JSON skip
# The rest of a read ends in a moment. Lambda freezes the function at the end of its answer, perhaps for ever.
_TO_END_IN_SECONDS = 2


def opened(
    pieces: Iterator[bytes],
    beat: bytes = COMMENT,
    *,
    first_after: float = BEAT,
    every: float = BEAT,
    interrupt: Callable[[], None] = lambda: None,
) -> Generator[bytes, None, None]:
    """Yield the pieces, and `beat` whenever `every` seconds pass without a piece.

    first_after: seconds before the first beat. Until then an error that the pieces raise can set the status.
    interrupt: ends the read in which the reading thread waits. It is called at the end, because only that thread can
    close the pieces.
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
