"""What a call is counted with: the engine's own figures, else chunks or bytes, and what an error leaves."""

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest

from inference_api import errors
from inference_api.key_usage import Charge
from inference_api.metered_call import MeteredCall
from inference_api.token_counts import tokens_of


class Counted:
    """In the place of the table: hears what a call is settled with."""

    def __init__(self) -> None:
        self.said: list[tuple[int, int, bool]] = []

    def settle(self, charge: Charge, tokens_in: int, tokens_out: int, *, failed: bool = False) -> None:
        self.said.append((tokens_in, tokens_out, failed))


@pytest.fixture
def counted() -> Counted:
    return Counted()


@pytest.fixture
def call(counted: Counted) -> MeteredCall:
    """Charged with 7 tokens of its prompt and 100 of its answer."""
    usage: Any = counted
    return MeteredCall(usage, Charge("owner", 0, 7, 100))


def stream(*pieces: bytes, error: Exception | None = None) -> Iterator[bytes]:
    yield from pieces
    if error:
        raise error


CHUNK, COMMENT, DONE = b'data: {"choices": []}\n\n', b": wait\n\n", b"data: [DONE]\n\n"


def test_a_stream_counts_what_the_engine_says_at_its_end(call: MeteredCall, counted: Counted) -> None:
    with call:
        pieces = call.measured(stream(CHUNK, DONE))
    assert not counted.said
    assert next(pieces) == CHUNK
    call(5, 40)
    assert list(pieces) == [DONE]
    assert counted.said == [(5, 40, False)]


def test_a_stream_without_figures_counts_its_chunks(call: MeteredCall, counted: Counted) -> None:
    assert len(list(call.measured(stream(COMMENT, CHUNK, CHUNK, DONE)))) == 4
    assert counted.said == [(7, 2, False)]


def test_a_caller_who_hangs_up_pays_what_came(call: MeteredCall, counted: Counted) -> None:
    pieces: Any = call.measured(stream(CHUNK, CHUNK, CHUNK))
    next(pieces), next(pieces)
    pieces.close()
    assert counted.said == [(7, 2, False)]


def test_an_engine_that_dies_in_the_middle_is_an_error_with_what_came(call: MeteredCall, counted: Counted) -> None:
    pieces = call.measured(stream(CHUNK, error=errors.model_timeout()))
    with pytest.raises(errors.InvocationError):
        list(pieces)
    assert counted.said == [(7, 1, True)]


def test_a_refused_call_costs_nothing_and_one_that_ran_its_prompt(call: MeteredCall, counted: Counted) -> None:
    for error in (errors.container_error(400, "no"), errors.throttled("x"), errors.model_timeout()):
        with suppress(errors.InvocationError), call:
            raise error
    assert counted.said == [(0, 0, True), (0, 0, True), (7, 0, True)]


def test_a_whole_answer_counts_the_engines_figures_or_its_bytes(call: MeteredCall, counted: Counted) -> None:
    with call:
        call.answer(b"x" * 41)
    assert counted.said == [(7, 11, False)]


@pytest.mark.parametrize(
    ("answer", "tokens"),
    [
        (b'{"usage": {"prompt_tokens": 3, "completion_tokens": 4}}', (3, 4)),
        (b'{"usage": {"prompt_tokens": 3}}', (3, 0)),
        (b'[{"details": {"generated_tokens": 4}}, {"details": {"generated_tokens": 5}}]', (None, 9)),
        (b'{"generated_text": "x", "details": {"generated_tokens": 4}}', (None, 4)),
        (b'{"usage": {"prompt_tokens": -3, "completion_tokens": 4}}', None),
        (b'{"usage": {"prompt_tokens": true, "completion_tokens": 4}}', None),
        (b'{"details": [1]}', None),
        (b"[" * 100_000, None),
        (b"not json", None),
        (b"3", None),
    ],
)
def test_tokens_of_answers(answer: bytes, tokens: tuple[int | None, int] | None) -> None:
    assert tokens_of(answer) == tokens
