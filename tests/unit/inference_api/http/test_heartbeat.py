"""Beats while nothing comes; errors before and after them; the end of a read."""

from collections.abc import Iterator
from threading import Event

import pytest

from inference_api.http.heartbeat import COMMENT, opened
from inference_api.shared import errors


def test_beats_come_between_pieces_and_never_in_front_of_one_that_is_there() -> None:
    go_on = Event()

    def pieces() -> Iterator[bytes]:
        yield b"one"
        go_on.wait()
        yield b"two"

    stream = opened(pieces(), first_after=600, every=0.001)
    assert [next(stream), next(stream), next(stream)] == [b"one", COMMENT, COMMENT]
    go_on.set()
    assert [piece for piece in stream if piece != COMMENT] == [b"two"]


def test_an_error_before_the_first_piece_is_raised_as_it_is() -> None:
    def refused() -> Iterator[bytes]:
        raise errors.throttled("ThrottlingException")
        yield b""

    with pytest.raises(errors.InvocationError, match="throttled"):
        next(opened(refused()))


def test_who_leaves_interrupts_the_read_and_closes_its_source() -> None:
    interrupted, closed = Event(), Event()

    def silent() -> Iterator[bytes]:
        try:
            yield b"one"
            interrupted.wait()
            yield b"two"
        finally:
            sum(range(1_000_000))  # the table, for example
            closed.set()

    stream = opened(silent(), interrupt=interrupted.set)
    assert next(stream) == b"one"
    stream.close()
    assert closed.is_set(), "the function is frozen now"
